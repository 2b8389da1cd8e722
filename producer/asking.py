"""Questions and answers on the wire."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from producer.errors import InvalidRequest
from producer.message import Message, many, new_id, require_choice, require_collection, require_id
from producer.names import DEFAULT_DEADLINE_SECONDS
from producer.rendering import html_of, markdown_of, place_of
from producer.scope import Filters, Turn, history_of

CONNECTORS = ("local", "claude", "extract")
POLICIES = ("strict", "flag")
REFUSALS = {
    "no_evidence": "no document of the collection is near enough to the question; the model was not asked",
    "model_abstained": "the model found no answer in the documents that are nearest to the question",
    "truncated": "the model reached its token limit before its first sentence was whole",
    "nothing_supported": "what the model wrote is not carried by the documents that it was shown",
}

_MAX_QUESTION = 8_000
# The worker writes a reply with its own rights: it must not be led to write where only it may.
_OWN_KEYS = re.compile(r"[:@](?:rag:|spark\.|celery|unacked|_kombu)")
_REPLY_TO = re.compile(r"(stream:[\w.:-]{1,200}|task:[\w.]{1,200}@[\w.-]{1,200})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Message):
    """A question about one collection of documents.

    `deadline` is a moment (Unix seconds): what is not answered by then is not answered at all.
    """

    text: str
    collection: str
    id: str = field(default_factory=new_id)
    connector: str = "local"
    top_k: int | None = None
    min_score: float | None = None
    policy: str = "strict"
    filters: Filters | None = field(default=None, metadata={"of": Filters})
    """Which documents may answer; None for all of the collection."""
    history: tuple[Turn, ...] = many(Turn)
    """The conversation before this question, oldest turn first."""
    reply_to: str = ""
    """Where a `Reply` goes besides the result: `stream:NAME`, `task:NAME@QUEUE`, or "" for nowhere."""
    asked_at: float = field(default_factory=time.time)
    deadline: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what no worker could answer; raises InvalidRequest."""
        object.__setattr__(self, "history", history_of(self.history))
        require_id(self.id)
        if not self.deadline:
            object.__setattr__(self, "deadline", self.asked_at + DEFAULT_DEADLINE_SECONDS)
        _require_text(self.text)
        require_collection(self.collection)
        if not self.asked_at < self.deadline < math.inf:
            raise InvalidRequest("the deadline is not after the question; give a number of seconds above zero")
        require_choice("connector", self.connector, CONNECTORS)
        require_choice("policy", self.policy, POLICIES)
        if self.top_k is not None and not 1 <= self.top_k <= 50:
            raise InvalidRequest(f"top_k is {self.top_k}; give a number from 1 to 50")
        if self.min_score is not None and not -1.0 <= self.min_score <= 1.0:
            raise InvalidRequest(f"min_score is {self.min_score}; a cosine lies between -1 and 1")
        if self.reply_to and not _REPLY_TO.fullmatch(self.reply_to):
            raise InvalidRequest(f"reply_to is {self.reply_to!r}; write stream:NAME or task:NAME@QUEUE")
        if _OWN_KEYS.search(self.reply_to):
            raise InvalidRequest(f"reply_to is {self.reply_to!r}, a name of rag-kit's own; choose one of the app's")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(Message):
    """A document that was shown to the model, was cited by it and carries its statement."""

    name: str
    page: int | None = None
    heading: tuple[str, ...] = ()
    location: str = ""
    quote: str = ""
    """The sentence that carries the statement, copied from the document by code."""
    start: int | None = None
    """Where the quote stands in the document's extracted text (characters, 0-based, end exclusive)."""
    end: int | None = None
    score: float = 0.0
    """Cosine of the passage to the question."""
    also_in: tuple[str, ...] = ()
    """Other documents of the collection that hold the same passage."""

    @property
    def place(self) -> str:
        """Where the quote stands, as a person would say it: `page 3, Auto > Collision`; "" where nothing is known."""
        return place_of(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped(Message):
    """A string that the model offered as a source and that was thrown out, with the reason."""

    string: str
    reason: str
    """A word that stays the same from version to version."""
    position: int = 0
    explanation: str = ""
    """The reason as a person reads it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown(Message):
    """A passage that the model was shown."""

    name: str
    score: float
    page: int | None = None
    heading: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence(Message):
    """One sentence of the answer, and how far the evidence carries it."""

    start: int
    end: int
    state: str
    support: float = 0.0
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure(Message):
    """One figure of the answer: verified, rounded, computed, of the question, or unsupported."""

    string: str
    state: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt(Message):
    """One draft as the check left it; the best of them is the answer."""

    connector: str
    model: str = ""
    text: str = ""
    abstained: bool = False
    kept: tuple[str, ...] = ()
    dropped: tuple[Dropped, ...] = many(Dropped)
    flags: tuple[str, ...] = ()
    chosen: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit(Message):
    """What was claimed, what was kept, and why: everything needed to judge an answer afterwards."""

    cited: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    dropped: tuple[Dropped, ...] = many(Dropped)
    shown: tuple[Shown, ...] = many(Shown)
    verified_by_check: tuple[Source, ...] = many(Source)
    """Documents that carry an uncited answer by the check alone; the model did not cite them."""
    citations_reported: str = "not_reported"
    truncated: bool = False
    flags: tuple[str, ...] = ()
    sentences: tuple[Sentence, ...] = many(Sentence)
    figures: tuple[Figure, ...] = many(Figure)
    attempts: tuple[Attempt, ...] = many(Attempt)
    """Every draft in order, where the model was asked more than once, or another connector after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Message):
    """A checked answer. Show `text`, and `sources_line` below it where it is not empty."""

    question_id: str
    text: str
    sources: tuple[Source, ...] = many(Source)
    sources_line: str = ""
    abstained: bool = False
    """There is no answer in the documents; `text` says so, and nothing is listed."""
    reason: str = ""
    """Why there is no answer: a key of `REFUSALS`; "" where there is one."""
    connector: str = ""
    """What the answer came from; `extract` where the model's draft was refused and the worker falls back to it."""
    model: str = ""
    policy: str = "strict"
    timings: Mapping[str, float] = field(default_factory=dict)
    """Seconds spent in each stage: queue, retrieve, generate, check."""
    usage: Mapping[str, int] = field(default_factory=dict)
    audit: Audit = field(default_factory=Audit, metadata={"of": Audit})

    @property
    def explanation(self) -> str:
        """Why there is no answer, as a person reads it; "" where there is one."""
        return REFUSALS.get(self.reason, self.reason)

    def to_markdown(self) -> str:
        """Return the answer and its sources as Markdown.

        What looks like markup in them is escaped: a model's words cannot become a link, an image or a heading.
        """
        return markdown_of(self.text, self.sources)

    def to_html(self, link: Callable[[str], str | None] | None = None) -> str:
        """Return the answer and its sources as HTML, all of it escaped.

        `link` gives the address of a document by its name, or None; only sources are ever linked. Raises ValueError
        where it gives what no page should follow, as `javascript:`.
        """
        return html_of(self.text, self.sources, link)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply(Message):
    """What a worker sends to `reply_to` when a question is over, at least once: the answer, or why there is none."""

    question_id: str
    state: str
    """`succeeded`, `failed`, `expired` or `cancelled`."""
    answer: Answer | None = field(default=None, metadata={"of": Answer})
    error: str = ""
    reason: str = ""
    retryable: bool = False


def _require_text(text: str) -> None:
    if not isinstance(text, str) or not text.strip():
        raise InvalidRequest("the question is empty, or no text")
    if len(text) > _MAX_QUESTION:
        raise InvalidRequest(f"the question has {len(text)} characters; at most {_MAX_QUESTION} are read")
