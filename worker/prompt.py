"""A question and its passages in, the messages for a model out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from worker.records import Passage

NO_ANSWER = "I don't have an answer for you."

_TASK = f"""\
You answer questions from the documents that the user gives you, and from nothing else.
Answer in one or two plain sentences. Take every number from the documents exactly as it stands there.
If the documents do not hold the answer, write only: {NO_ANSWER}"""
_CITE_IN_JSON = 'Write JSON: the "answer", and as "sources" the names of the documents that you used, or [] for none.'
_CITE_BY_NAME = 'After the answer, write a line that starts with "Sources:" and names the documents that you used.'

# Small models follow an example better than an instruction. This one is far from anybody's documents, so that
# little of it is copied; where its document is cited all the same, it was not shown, and the check throws it out.
_NOTES = Passage(name="cell_biology_notes.txt", text="The mitochondrion makes ATP.")


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a connector is asked: the question and the only evidence it may use, the most relevant first."""

    question: str
    passages: tuple[Passage, ...]
    problems: tuple[str, ...] = ()
    """What an earlier draft of the same answer was refused for; that draft is not shown, as models copy it."""

    @property
    def messages(self) -> list[dict[str, str]]:
        """The chat messages, constant part first, so that servers can reuse their prefix cache."""
        return self._messages(_CITE_BY_NAME, f"{_NOTES.text}\nSources: {_NOTES.name}")

    @property
    def json_messages(self) -> list[dict[str, str]]:
        """The same for a model that is held to `json_properties`."""
        return self._messages(_CITE_IN_JSON, json.dumps({"answer": _NOTES.text, "sources": [_NOTES.name]}))

    @property
    def json_properties(self) -> Mapping[str, Any]:
        """The JSON schema of an answer that can name no document but those shown."""
        names = list(dict.fromkeys(passage.name for passage in self.passages))
        sources = {"type": "array", "items": {"type": "string", "enum": names}, "maxItems": len(names)}
        return {"answer": {"type": "string"}, "sources": sources}

    @property
    def instructions(self) -> str:
        """The task alone, for connectors that pass evidence and citations as structure."""
        return _TASK

    @property
    def asked(self) -> str:
        """The question on one line, and below it what to mind this time."""
        return "\n".join([_one_line(self.question), *_minded(self.problems)])

    @property
    def stop(self) -> list[str]:
        """Where a model that runs on has begun to write the user's part."""
        return ["\nDocument:", "\nQuestion:"]

    def _messages(self, cite: str, example: str) -> list[dict[str, str]]:
        return [
            {"role": "system", "content": f"{_TASK}\n{cite}"},
            {"role": "user", "content": _exchange((_NOTES,), "What does the mitochondrion make?")},
            {"role": "assistant", "content": example},
            {"role": "user", "content": _exchange(self.passages, self.asked)},
        ]


def _exchange(passages: Sequence[Passage], asked: str) -> str:
    return "\n\n".join([*map(_shown, passages), f"Question: {asked}"])


def _minded(problems: Sequence[str]) -> list[str]:
    if not problems:
        return []
    return [f"An earlier answer could not be used: {'; '.join(problems)}. Answer from the documents above alone."]


def _shown(passage: Passage) -> str:
    """Fence one passage; its text is indented, so that no line in it can pose as the head of another.

    A page is not shown: small models that see one number go on counting.
    """
    text = "\n".join("  " + line for line in passage.text.splitlines())
    return f"Document: {_one_line(passage.name)}\n{text}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
