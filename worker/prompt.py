"""A question and its passages in, the messages for a model out."""

from __future__ import annotations

from dataclasses import dataclass

from worker.records import Passage

NO_ANSWER = "I don't have an answer for you."

_TASK = "You answer questions from the documents that the user gives you, and from nothing else."
_RULES = f"""\
Write two or three plain sentences. Take every number from the documents exactly as it stands there.
If the documents do not hold the answer, write only: {NO_ANSWER}"""
# Small models copy an example marker verbatim, so this holds none.
_CITE_BY_NAME = 'End with one line that starts with "Sources:" and lists the names of the documents that you used.'


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a connector is asked: the question and the only evidence it may use, in the order shown."""

    question: str
    passages: tuple[Passage, ...]

    @property
    def messages(self) -> list[dict[str, str]]:
        """The chat messages, constant part first, so that servers can reuse their prefix cache."""
        return [
            {"role": "system", "content": f"{self.instructions}\n{_CITE_BY_NAME}"},
            {"role": "user", "content": f"{self._evidence()}\n\nQuestion: {_one_line(self.question)}"},
        ]

    @property
    def instructions(self) -> str:
        """The task alone, for connectors that pass evidence and citations as structure."""
        return f"{_TASK}\n{_RULES}"

    def _evidence(self) -> str:
        return "\n\n".join(_shown(passage) for passage in self.passages)


def _shown(passage: Passage) -> str:
    """Fence one passage; its text is indented, so that no line in it can pose as the head of another."""
    text = "\n".join("  " + line for line in passage.text.splitlines())
    where = f", page {passage.page}" if passage.page is not None else ""
    return f"Document: {_one_line(passage.name)}{where}\n{text}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
