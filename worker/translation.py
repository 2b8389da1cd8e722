"""Messages of an app in, values of the flows out, and back; with `tasks` the only room that knows both languages."""

from __future__ import annotations

from dataclasses import asdict

from producer.contract import (
    Answer,
    Attempt,
    Audit,
    DocumentState,
    Dropped,
    Figure,
    Filters,
    IngestReport,
    Question,
    Refusal,
    Sentence,
    Shown,
    Source,
)
from worker.citations import REASONS
from worker.filters import Filter
from worker.records import CitedSource, IngestOutcome, Outcome, Passage, Verdict
from worker.stored import DocumentInfo


def filter_of(filters: Filters | None) -> Filter | None:
    """Return the conditions as the index takes them."""
    if filters is None:
        return None
    return Filter(
        patterns=filters.names,
        folder=filters.folder,
        modified_from_ns=_nanoseconds(filters.modified_from),
        modified_until_ns=_nanoseconds(filters.modified_until),
        tags=frozenset(filters.tags),
    )


def _nanoseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1e9)


def answer_of(question: Question, outcome: Outcome, *, queued: float) -> Answer:
    """Return what the app gets; `queued` is in seconds."""
    verdict = outcome.verdict
    return Answer(
        question_id=question.id,
        text=verdict.text,
        sources=tuple(_source(source, outcome.passages) for source in verdict.sources),
        sources_line=verdict.sources_line,
        abstained=verdict.abstained,
        reason=outcome.reason,
        connector=outcome.connector or question.connector,
        model=outcome.model,
        policy=verdict.policy,
        timings={"queue": max(0.0, queued), **outcome.timings},
        usage=outcome.usage,
        audit=_audit(outcome),
    )


def _audit(outcome: Outcome) -> Audit:
    verdict = outcome.verdict
    return Audit(
        cited=verdict.cited,
        kept=tuple(source.name for source in verdict.sources),
        dropped=_dropped(verdict),
        shown=tuple(
            Shown(name=passage.name, score=passage.score, page=passage.page, heading=passage.heading)
            for passage in outcome.passages
        ),
        verified_by_check=tuple(_source(source, outcome.passages) for source in verdict.verified_by_check),
        citations_reported=verdict.citations_reported,
        truncated=verdict.truncated,
        flags=verdict.flags,
        sentences=tuple(
            Sentence(start=s.start, end=s.end, state=s.state, support=s.support, flags=s.flags)
            for s in verdict.sentences
        ),
        figures=tuple(Figure(string=f.string, state=f.state, reason=f.reason) for f in verdict.figures),
        attempts=_attempts(outcome) if len(outcome.attempts) > 1 else (),
    )


def _attempts(outcome: Outcome) -> tuple[Attempt, ...]:
    return tuple(
        Attempt(
            connector=attempt.connector,
            model=attempt.model,
            text=attempt.verdict.text,
            abstained=attempt.verdict.abstained,
            kept=tuple(source.name for source in attempt.verdict.sources),
            dropped=_dropped(attempt.verdict),
            flags=attempt.verdict.flags,
            chosen=attempt.verdict is outcome.verdict,
        )
        for attempt in outcome.attempts
    )


def _dropped(verdict: Verdict) -> tuple[Dropped, ...]:
    return tuple(
        Dropped(**asdict(dropped), explanation=REASONS.get(dropped.reason, "")) for dropped in verdict.dropped
    )


def _source(source: CitedSource, passages: tuple[Passage, ...]) -> Source:
    """Move the quote's offsets from the passage to the document."""
    passage = passages[source.passage]
    found = source.start is not None and source.end is not None
    return Source(
        name=source.name,
        page=passage.page,
        heading=passage.heading,
        location=passage.location,
        quote=source.quote,
        start=passage.start + (source.start or 0) if found else None,
        end=passage.start + (source.end or 0) if found else None,
        score=passage.score,
        also_in=passage.also_in,
    )


def document_of(info: DocumentInfo) -> DocumentState:
    """Return one stored document."""
    return DocumentState(
        name=info.name,
        state=info.state,
        reason=info.reason,
        chunks=info.chunks,
        size=info.size,
        ingested_at=info.ingested_at,
        tags=info.tags,
    )


def report_of(collection: str, outcome: IngestOutcome) -> IngestReport:
    """Return what an ingest did."""
    return IngestReport(
        collection=collection,
        added=outcome.added,
        changed=outcome.changed,
        removed=outcome.removed,
        renamed=outcome.renamed,
        unchanged=outcome.unchanged,
        refused=tuple(Refusal(**asdict(refused)) for refused in outcome.refused),
        chunks=outcome.chunks,
        seconds=outcome.seconds,
        warnings=outcome.warnings,
    )
