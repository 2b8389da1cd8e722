"""The values of the flow: each arrow turns one of these frozen values into the next.

    Document -> Chunk -> Hit -> Passage -> Draft -> Verdict

All offsets are 0-based character positions, end exclusive: `text[start:end]` is the thing meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

# --- documents ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Section:
    """A run of a document's text that lies on one page under one heading path."""

    start: int
    end: int
    page: int | None = None
    """The page as a person counts it, from 1; None where the format has no pages."""
    heading: tuple[str, ...] = ()
    """The headings above this text, outermost first; they are not part of the text itself."""
    kind: Literal["text", "table"] = "text"
    location: str = ""
    """A place inside formats without pages, as a person would say it: `sheet "Rates", rows 2-40`."""


@dataclass(frozen=True, slots=True)
class Document:
    """What a reader found in one file: its whole text, cut into sections that do not overlap."""

    text: str
    sections: tuple[Section, ...]
    title: str = ""
    warnings: tuple[str, ...] = ()
    """What of the file could not be read while the rest could: pages without a text layer, an attachment."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """About a paragraph of a document: `text == document.text[start:end]`, always."""

    text: str
    start: int
    end: int
    page: int | None = None
    heading: tuple[str, ...] = ()
    location: str = ""

    @property
    def embedded_text(self) -> str:
        """The text that becomes the vector: the headings help to find a chunk but are never quoted."""
        return "\n".join((*self.heading, self.text)) if self.heading else self.text


# --- retrieval ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hit:
    """One row that search found: which chunk of which document, and its cosine to the question."""

    document: str
    ordinal: int
    """The chunk's place in its document, from 0."""
    score: float
    chunk: Chunk


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of evidence as the model is shown it, in the order of showing."""

    name: str
    """The document's name, as listed in an answer's sources line."""
    text: str
    page: int | None = None
    heading: tuple[str, ...] = ()
    location: str = ""
    start: int = 0
    """Where `text` begins in the document's own text."""
    score: float = 0.0
    also_in: tuple[str, ...] = ()
    """Other documents that hold the same text; it is shown once."""


# --- generation --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Citation:
    """A citation that a connector received as structure instead of text (Claude's Citations feature)."""

    name: str
    """The document named by the model's own structure; checked like everything else."""
    quote: str = ""
    """The text that the model says it cites."""
    passage: int | None = None
    """The position of the passage in the order shown, from 0, where the structure has one."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What a model wrote, before anything of it was checked; it never leaves the worker."""

    text: str
    citations: tuple[Citation, ...] = ()
    model: str = ""
    truncated: bool = False
    """The model stopped at its token limit, not at the end of its answer."""
    usage: Mapping[str, int] = field(default_factory=dict)
    """Token counts as the server reported them."""
    shown: int | None = None
    """How many of the prompt's passages, from the first on, the model's context had room for; None for all."""


# --- the verdict -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CitedSource:
    """A document that was shown and carries the statement; in `Verdict.sources` the model cited it as well."""

    name: str
    quote: str = ""
    """The sentence of the evidence that carries the statement, copied from it by code."""
    start: int | None = None
    """Where the quote begins in the passage's text; None where the citation points at no sentence."""
    end: int | None = None
    passage: int = 0
    """The position of the passage in the order shown, from 0."""


@dataclass(frozen=True, slots=True)
class DroppedCitation:
    """A string that the model offered as a source and that the sources line does not list."""

    string: str
    """Verbatim from the model's output."""
    reason: str
    """A word of `worker.citations.REASONS`."""
    position: int
    """Where the string begins in the model's output; -1 where it stands there only escaped, as in JSON."""


@dataclass(frozen=True, slots=True)
class Span:
    """A run of characters in a shown passage."""

    passage: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class FigureCheck:
    """One number, amount, percentage, date or form number of the answer and what became of it."""

    string: str
    start: int
    """Position in the answer's text; -1 where its sentence was removed."""
    end: int
    state: Literal["verified", "rounded", "computed", "question", "unsupported"]
    """`question`: the user's own figure, a constant of a shown sum, or a term such as `401(k)`; no support."""
    reason: str = ""
    """Why it is unsupported: `number`, `unit`, `sign`, `date`, `scope`, `misplaced`, `arithmetic`, `echo`."""
    support: Span | None = None


@dataclass(frozen=True, slots=True)
class QuoteCheck:
    """One run of quoted text of the answer and where it stands in the evidence."""

    string: str
    start: int
    end: int
    state: Literal["verbatim", "stitched", "misattributed", "not_found"]
    support: Span | None = None


@dataclass(frozen=True, slots=True)
class SentenceCheck:
    """One sentence of the answer, how far the evidence carries it, and the passage that does."""

    start: int
    """Position in the answer's text; -1 where the sentence was removed."""
    end: int
    state: Literal["supported", "partly", "unsupported", "refusal", "removed", "no_claim"]
    support: float = 0.0
    """0..1, the share of the sentence that the best passage carries."""
    evidence: Span | None = None
    flags: tuple[str, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A checked answer: the only form in which a model's words leave the answer flow."""

    text: str
    sources: tuple[CitedSource, ...] = ()
    sources_line: str = ""
    """`Sources: a.pdf, b.md`, or "" where nothing is listed; never part of `text`."""
    abstained: bool = False
    dropped: tuple[DroppedCitation, ...] = ()
    flags: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()
    """Names of shown documents that the model cited, kept or not, in order of first mention."""
    presented: tuple[str, ...] = ()
    """Names of all the documents shown, in order."""
    verified_by_check: tuple[CitedSource, ...] = ()
    """Documents that carry an uncited answer according to the check alone; never in the sources line."""
    citations_reported: Literal["reported", "none", "not_reported"] = "not_reported"
    truncated: bool = False
    policy: Literal["strict", "flag"] = "strict"
    figures: tuple[FigureCheck, ...] = ()
    quotes: tuple[QuoteCheck, ...] = ()
    sentences: tuple[SentenceCheck, ...] = ()


# --- the two flows -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Attempt:
    """A draft as the check left it, and what it was made with."""

    verdict: Verdict
    connector: str
    passages: tuple[Passage, ...]
    """Those that the model was shown."""
    model: str = ""
    usage: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the answer flow gives: a verdict, and what it was reached with; never a draft."""

    verdict: Verdict
    passages: tuple[Passage, ...] = ()
    reason: str = ""
    """Why there is no answer: `no_evidence`, `model_abstained`, `nothing_supported`, `truncated`; "" otherwise."""
    connector: str = ""
    """The one that the verdict's draft came from; "" where none was asked."""
    model: str = ""
    attempts: tuple[Attempt, ...] = ()
    """Every checked draft in order; the verdict is that of the best."""
    usage: Mapping[str, int] = field(default_factory=dict)
    """Tokens of all attempts together."""
    timings: Mapping[str, float] = field(default_factory=dict)
    """Seconds a stage."""


@dataclass(frozen=True, slots=True)
class RefusedFile:
    """A file that yielded no chunks, and why."""

    name: str
    state: Literal["empty", "refused", "deleted"]
    reason: str


@dataclass(frozen=True, slots=True)
class IngestProgress:
    """How far an ingest is."""

    total: int
    done: int = 0
    chunks: int = 0
    failures: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class IngestOutcome:
    """What the ingest flow did; each file is in exactly one of added, changed, renamed, unchanged, refused."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    renamed: int = 0
    unchanged: int = 0
    refused: tuple[RefusedFile, ...] = ()
    chunks: int = 0
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()
