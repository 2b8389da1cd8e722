"""A question and the turns before it in, the words to search with and to answer out; no model is asked.

Only what the user said counts: what an assistant said before is no evidence, and its figures are nobody's.
"""

from __future__ import annotations

from typing import Final

Turns = tuple[tuple[str, str], ...]
"""(`user` or `assistant`, what was said), oldest first."""

# How far back the model is told; of each turn, so many characters.
_TOLD: Final = 3
_LONGEST: Final = 500


def searched(question: str, history: Turns) -> list[str]:
    """Return what is searched for: the question by itself and, in a conversation, together with the one before it.

    A question that stands alone is spoilt by the one before it (nDCG@10 on MTRAG's finance questions falls from .289
    to .270), one that does not is not found without it. So both are searched for, and `clearly_nearer` decides.
    """
    before = _said_by_user(history)[-1:]
    return [question, *(f"{words} {question}" for words in before)]


def in_context(question: str, history: Turns) -> str:
    """Return the question as the model is asked it: after the user's last questions."""
    before = asked_before(history)
    return f"(asked before: {before}) {question}" if before else question


def asked_before(history: Turns) -> str:
    """Return the user's last questions; "" where there are none."""
    return " / ".join(_said_by_user(history)[-_TOLD:])


def _said_by_user(history: Turns) -> list[str]:
    said = (" ".join(words.split())[:_LONGEST] for role, words in history if role == "user")
    return [words for words in said if words]
