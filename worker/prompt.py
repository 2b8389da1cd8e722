"""A question and its passages in, the messages for a model out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from worker.records import Passage

NO_ANSWER = "I don't have an answer for you."

_TASK = f"""\
You answer questions from the documents that the user gives you, and from nothing else.
Answer in one or two plain sentences. Take every number from the documents exactly as it stands there.
If the documents do not hold the answer, write only: {NO_ANSWER}"""
_CITE_BY_NAME = 'After the answer, write a line that starts with "Sources:" and names the documents that you used.'

# Small models follow an example better than an instruction. This one is far from anybody's documents, so that
# little of it is copied; where its document is cited all the same, it was not shown, and the check throws it out.
_NOTES = Passage(name="cell_biology_notes.txt", text="The mitochondrion makes ATP.")


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a connector is asked: the question and the only evidence it may use, in the order shown."""

    question: str
    passages: tuple[Passage, ...]

    @property
    def messages(self) -> list[dict[str, str]]:
        """The chat messages, constant part first, so that servers can reuse their prefix cache."""
        return [
            {"role": "system", "content": f"{_TASK}\n{_CITE_BY_NAME}"},
            {"role": "user", "content": _asked((_NOTES,), "What does the mitochondrion make?")},
            {"role": "assistant", "content": f"{_NOTES.text}\nSources: {_NOTES.name}"},
            {"role": "user", "content": _asked(self.passages, self.question)},
        ]

    @property
    def instructions(self) -> str:
        """The task alone, for connectors that pass evidence and citations as structure."""
        return _TASK

    @property
    def stop(self) -> list[str]:
        """Where a model that runs on has begun to write the user's part."""
        return ["\nDocument:", "\nQuestion:"]


def _asked(passages: Sequence[Passage], question: str) -> str:
    return "\n\n".join([*map(_shown, passages), f"Question: {_one_line(question)}"])


def _shown(passage: Passage) -> str:
    """Fence one passage; its text is indented, so that no line in it can pose as the head of another.

    A page is not shown: small models that see one number go on counting.
    """
    text = "\n".join("  " + line for line in passage.text.splitlines())
    return f"Document: {_one_line(passage.name)}\n{text}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
