"""What a question may draw on: earlier turns of its conversation, and conditions on the documents that may answer."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from producer.errors import InvalidRequest
from producer.message import Message, require_choice

ROLES = ("user", "assistant")

_MAX_TURN = 8_000
_MAX_TURNS = 100
_MAX_CONDITIONS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn(Message):
    """One earlier turn of a conversation, in the words that chat models use for it."""

    role: str
    """`user` or `assistant`."""
    content: str

    def __post_init__(self) -> None:
        """Refuse what is no turn; raises InvalidRequest."""
        require_choice("role", self.role, ROLES)
        if not isinstance(self.content, str) or len(self.content) > _MAX_TURN:
            raise InvalidRequest(f"a turn of the history is no text of at most {_MAX_TURN} characters")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters(Message):
    """Which documents may answer; every condition that is given must hold. Others are not even looked at.

    >>> Filters(names="policies/*.pdf", modified_from=date(2024, 1, 1), tags="approved")
    """

    names: tuple[str, ...] = ()
    """Patterns of document names, `*`, `?` and `[abc]` as in a shell, where `*` crosses folders; one must fit."""
    folder: str = ""
    """A folder of the collection, as in `taxes/2024`: documents in it, at any depth."""
    modified_from: float | None = None
    """The earliest last modification, inclusive: Unix seconds, a datetime, or a date (its midnight in UTC)."""
    modified_until: float | None = None
    """The latest last modification, exclusive; given likewise."""
    tags: tuple[str, ...] = ()
    """Tags given at ingest that a document must all have."""

    def __post_init__(self) -> None:
        """Take single strings and dates as well; raises InvalidRequest where a condition is none."""
        for argument in ("names", "tags"):
            object.__setattr__(self, argument, _strings(argument, getattr(self, argument)))
        for argument in ("modified_from", "modified_until"):
            object.__setattr__(self, argument, _moment(argument, getattr(self, argument)))
        if not isinstance(self.folder, str):
            raise InvalidRequest("filters: folder is no text; write it as taxes/2024")


def history_of(turns: object) -> tuple[Turn, ...]:
    """Return turns given as `Turn` or as `{"role": ..., "content": ...}`; raises InvalidRequest."""
    if not isinstance(turns, list | tuple) or len(turns) > _MAX_TURNS:
        raise InvalidRequest(f"history is no list of at most {_MAX_TURNS} turns")
    return tuple(turn if isinstance(turn, Turn) else Turn.from_dict(turn) for turn in turns)


def _strings(argument: str, value: object) -> tuple[str, ...]:
    values = (value,) if isinstance(value, str) else value
    if not isinstance(values, tuple | list) or not all(isinstance(item, str) and item for item in values):
        raise InvalidRequest(f"filters: {argument} holds something that is no text")
    if len(values) > _MAX_CONDITIONS:
        raise InvalidRequest(f"filters: {len(values)} {argument}; at most {_MAX_CONDITIONS} are looked at")
    return tuple(values)


def _moment(argument: str, value: object) -> float | None:
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time(), UTC)
    if isinstance(value, datetime):
        return value.timestamp()
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    raise InvalidRequest(f"filters: {argument} is neither Unix seconds nor a date")
