"""What crosses the wire between an app and the workers: frozen values, JSON objects, one schema number.

Reading is lenient where versions may differ: unknown fields are ignored, missing ones take their defaults.
What has no default must be there, and what the checks below refuse is refused on both sides.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any, Literal, Self

from producer.errors import ContractError, InvalidRequest
from producer.names import DEFAULT_DEADLINE_SECONDS, INGEST_DEADLINE_SECONDS

SCHEMA_VERSION = 1

CONNECTORS = ("local", "claude")
POLICIES = ("strict", "flag")
State = Literal["unknown", "queued", "started", "progress", "succeeded", "failed", "expired", "cancelled"]

_COLLECTION = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_MAX_QUESTION = 8_000
_MAX_NAME = 512


def new_id() -> str:
    """Return a fresh task id."""
    return str(uuid.uuid4())


class Message:
    """To and from JSON objects, for the dataclasses below."""

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON object that `from_dict` of this or a later version reads."""
        return {"schema": SCHEMA_VERSION, **asdict(self)}  # type: ignore[call-overload]

    @classmethod
    def from_dict(cls, payload: object) -> Self:
        """Read a JSON object; raises ContractError where it does not fit."""
        if not isinstance(payload, Mapping):
            raise ContractError(f"{cls.__name__}: expected an object, got {type(payload).__name__}", payload)
        known = {f.name: f for f in fields(cls)}  # type: ignore[arg-type]
        missing = [
            name
            for name, f in known.items()
            if name not in payload and f.default is MISSING and f.default_factory is MISSING
        ]
        if missing:
            raise ContractError(f"{cls.__name__}: missing {', '.join(missing)}", payload)
        values = {name: _read(f.metadata, payload[name]) for name, f in known.items() if name in payload}
        try:
            return cls(**values)
        except (TypeError, AttributeError) as error:
            raise ContractError(f"{cls.__name__}: a field has the wrong type", payload) from error


def _read(metadata: Mapping[str, Any], value: Any) -> Any:
    """Turn JSON lists back into tuples, and objects into the message that the field is made of."""
    part = metadata.get("of")
    if isinstance(value, list | tuple):
        return tuple(part.from_dict(item) for item in value) if part else tuple(value)
    if part is not None and value is not None:
        return part.from_dict(value)
    return value


def _many(part: type[Message]) -> Any:
    return field(default=(), metadata={"of": part})


# --- questions and answers -----------------------------------------------------------------------


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
    asked_at: float = field(default_factory=time.time)
    deadline: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what no worker could answer; raises InvalidRequest."""
        if not self.deadline:
            object.__setattr__(self, "deadline", self.asked_at + DEFAULT_DEADLINE_SECONDS)
        _require_text(self.text)
        require_collection(self.collection)
        if self.deadline <= self.asked_at:
            raise InvalidRequest("the deadline has passed before the question is asked; give seconds above zero")
        _require_choice("connector", self.connector, CONNECTORS)
        _require_choice("policy", self.policy, POLICIES)
        if self.top_k is not None and not 1 <= self.top_k <= 50:
            raise InvalidRequest(f"top_k is {self.top_k}; give a number from 1 to 50")
        if self.min_score is not None and not -1.0 <= self.min_score <= 1.0:
            raise InvalidRequest(f"min_score is {self.min_score}; a cosine lies between -1 and 1")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped(Message):
    """A string that the model offered as a source and that was thrown out, with the reason."""

    string: str
    reason: str
    position: int = 0


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
class Audit(Message):
    """What was claimed, what was kept, and why: everything needed to judge an answer afterwards."""

    cited: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    dropped: tuple[Dropped, ...] = _many(Dropped)
    shown: tuple[Shown, ...] = _many(Shown)
    verified_by_check: tuple[Source, ...] = _many(Source)
    """Documents that carry an uncited answer by the check alone; the model did not cite them."""
    citations_reported: str = "not_reported"
    truncated: bool = False
    flags: tuple[str, ...] = ()
    sentences: tuple[Sentence, ...] = _many(Sentence)
    figures: tuple[Figure, ...] = _many(Figure)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Message):
    """A checked answer. Show `text`, and `sources_line` below it where it is not empty."""

    question_id: str
    text: str
    sources: tuple[Source, ...] = _many(Source)
    sources_line: str = ""
    abstained: bool = False
    """There is no answer in the documents; `text` says so, and nothing is listed."""
    reason: str = ""
    """Why there is no answer: `no_evidence`, `model_abstained`, `nothing_supported`; "" otherwise."""
    connector: str = ""
    model: str = ""
    policy: str = "strict"
    timings: Mapping[str, float] = field(default_factory=dict)
    """Seconds spent in each stage: queue, retrieve, generate, check."""
    usage: Mapping[str, int] = field(default_factory=dict)
    audit: Audit = field(default_factory=Audit, metadata={"of": Audit})


# --- ingestion -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestRequest(Message):
    """A folder, as the ingest worker sees it, whose documents shall be the collection's."""

    folder: str
    collection: str
    id: str = field(default_factory=new_id)
    asked_at: float = field(default_factory=time.time)
    deadline: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what no worker could ingest; raises InvalidRequest."""
        if not self.deadline:
            object.__setattr__(self, "deadline", self.asked_at + INGEST_DEADLINE_SECONDS)
        require_collection(self.collection)
        if not self.folder.strip():
            raise InvalidRequest("folder is empty; name the folder as the ingest worker sees it")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal(Message):
    """A file that yielded nothing, and why."""

    name: str
    reason: str
    state: str = "refused"
    """`refused`, or `empty` where the file is fine and holds no text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress(Message):
    """How far a running ingest is."""

    total: int = 0
    done: int = 0
    chunks: int = 0
    failures: int = 0
    seconds: float = 0.0
    told_at: float = field(default_factory=time.time)
    """When the worker said this, in Unix seconds."""

    @property
    def chunks_per_second(self) -> float:
        """The rate so far; 0 before the first chunk."""
        return self.chunks / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport(Message):
    """What an ingest did: every file is in exactly one of the counts."""

    collection: str
    added: int = 0
    changed: int = 0
    removed: int = 0
    renamed: int = 0
    """Moved to another name with the same bytes; nothing was read again."""
    unchanged: int = 0
    refused: tuple[Refusal, ...] = _many(Refusal)
    chunks: int = 0
    """Chunks written in this run."""
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()

    @property
    def files(self) -> int:
        """Files seen in the folder."""
        return self.added + self.changed + self.renamed + self.unchanged + len(self.refused)


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadRequest(Message):
    """One document whose bytes lie in Redis under `rag:upload:ID`: a message in a queue stays small."""

    name: str
    collection: str
    size: int
    sha256: str
    tags: tuple[str, ...] = ()
    id: str = field(default_factory=new_id)
    asked_at: float = field(default_factory=time.time)
    deadline: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what no worker could ingest; raises InvalidRequest."""
        if not self.deadline:
            object.__setattr__(self, "deadline", self.asked_at + INGEST_DEADLINE_SECONDS)
        require_collection(self.collection)
        require_document_name(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRequest(Message):
    """A document that shall disappear from answers."""

    name: str
    collection: str
    id: str = field(default_factory=new_id)
    asked_at: float = field(default_factory=time.time)
    deadline: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what no worker could delete; raises InvalidRequest."""
        if not self.deadline:
            object.__setattr__(self, "deadline", self.asked_at + INGEST_DEADLINE_SECONDS)
        require_collection(self.collection)
        require_document_name(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentsRequest(Message):
    """Asks what is stored in a collection."""

    collection: str
    id: str = field(default_factory=new_id)
    asked_at: float = field(default_factory=time.time)
    deadline: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what names no collection; raises InvalidRequest."""
        if not self.deadline:
            object.__setattr__(self, "deadline", self.asked_at + DEFAULT_DEADLINE_SECONDS)
        require_collection(self.collection)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentState(Message):
    """One stored document."""

    name: str
    state: str
    """`indexed`, `empty` (it holds no text) or `refused`."""
    reason: str = ""
    chunks: int = 0
    size: int = 0
    """Bytes of the file."""
    ingested_at: float = 0.0
    """Unix seconds."""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentList(Message):
    """What is stored in a collection, by name."""

    collection: str
    folder: str = ""
    """The folder that it is made from; "" where its documents came one by one."""
    documents: tuple[DocumentState, ...] = _many(DocumentState)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStatus(Message):
    """What is known of a task id; `progress` only while an ingest runs."""

    id: str
    state: State
    kind: str = ""
    progress: Progress | None = field(default=None, metadata={"of": Progress})
    error: str = ""
    reason: str = ""
    retryable: bool = False


# --- validation shared by both halves ------------------------------------------------------------


def require_collection(name: str) -> str:
    """Return `name`, or raise InvalidRequest: collections become key names and must stay apart."""
    if not isinstance(name, str) or not _COLLECTION.fullmatch(name):
        raise InvalidRequest(
            f"collection {name!r} is no valid name; use 1 to 64 of a-z, 0-9, _ and -, first a letter or digit"
        )
    return name


def require_document_name(name: str) -> str:
    """Return `name`, or raise InvalidRequest: names are printed, so they hold nothing that breaks or reorders a line."""
    if not isinstance(name, str) or not name.strip() or len(name) > _MAX_NAME or not name.isprintable():
        raise InvalidRequest(
            f"document name {name!r} is no valid name; use 1 to {_MAX_NAME} printable characters, such as policies/auto.pdf"
        )
    return name


def _require_text(text: str) -> None:
    if not isinstance(text, str) or not text.strip():
        raise InvalidRequest("the question is empty, or no text")
    if len(text) > _MAX_QUESTION:
        raise InvalidRequest(f"the question has {len(text)} characters; at most {_MAX_QUESTION} are read")


def _require_choice(argument: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InvalidRequest(f"{argument} is {value!r}; choose one of {', '.join(choices)}")
