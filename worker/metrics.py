"""Answers, reports and failures in, a page of figures for Prometheus out; no label holds a client's words.

A process serves the figures of its own work: the answer worker those of its threads, the ingest worker those of its
one child. A child that is replaced starts from zero again, which Prometheus' `increase` and `rate` allow for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    GCCollector,
    Histogram,
    Metric,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    start_http_server,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from producer.contract import Answer, IngestReport
from producer.names import DEADLINE_ERROR
from worker.vitals import Vitals

REGISTRY: Final = CollectorRegistry()
# Otherwise each counter has a second series, with the time of its making.
disable_created_metrics()  # type: ignore[no-untyped-call]

# A local model takes seconds, a queue may take minutes; the check and the search take milliseconds.
_SECONDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120, 300)
_INGEST_SECONDS = (1, 5, 15, 60, 300, 900, 3600, 3 * 3600, 8 * 3600)

_questions = Counter(
    "rag_questions", "Questions by outcome: answered, refused, failed, expired.", ["outcome"], registry=REGISTRY
)
_refusals = Counter("rag_refusals", "Questions without an answer, by reason.", ["reason"], registry=REGISTRY)
_failures = Counter("rag_failures", "Failed tasks, by task and type of error.", ["task", "error"], registry=REGISTRY)
_redeliveries = Counter(
    "rag_redeliveries",
    "Tasks that came once more, as an earlier worker did not finish them.",
    ["task"],
    registry=REGISTRY,
)
_dropped = Counter(
    "rag_dropped_citations",
    "Sources that a model named and that were thrown out, by reason.",
    ["reason"],
    registry=REGISTRY,
)
_figures = Counter(
    "rag_unsupported_figures", "Figures that a model wrote and that no evidence holds.", registry=REGISTRY
)
_repairs = Counter(
    "rag_repairs", "Times that a model was asked once more, as the check had thrown something out.", registry=REGISTRY
)
_tokens = Counter("rag_tokens", "Tokens as the model server counts them.", ["connector", "kind"], registry=REGISTRY)
_queue_wait = Histogram(
    "rag_queue_wait_seconds", "From the app's call to the worker's start.", buckets=_SECONDS, registry=REGISTRY
)
_stages = Histogram(
    "rag_stage_seconds", "Seconds in each stage of an answer.", ["stage"], buckets=_SECONDS, registry=REGISTRY
)
_ingests = Counter("rag_ingests", "Ingests by outcome: done, failed.", ["outcome"], registry=REGISTRY)
_ingest_seconds = Histogram(
    "rag_ingest_seconds", "Seconds of a whole ingest.", buckets=_INGEST_SECONDS, registry=REGISTRY
)
_documents = Counter("rag_documents", "Documents by what an ingest did with them.", ["outcome"], registry=REGISTRY)
_chunks = Counter("rag_chunks", "Chunks that ingests wrote.", registry=REGISTRY)

for _collector in (ProcessCollector, PlatformCollector, GCCollector):
    _collector(registry=REGISTRY)
for _outcome in ("answered", "refused", "failed", "expired"):
    _questions.labels(_outcome)  # a series that begins at its first event hides that event from `increase`
for _outcome in ("done", "failed"):
    _ingests.labels(_outcome)


def answered(answer: Answer) -> None:
    """Count one finished question, with or without an answer."""
    _questions.labels("refused" if answer.abstained else "answered").inc()
    if answer.abstained:
        _refusals.labels(answer.reason or "unsaid").inc()
    for dropped in answer.audit.dropped:
        _dropped.labels(dropped.reason).inc()
    _figures.inc(sum(figure.state == "unsupported" for figure in answer.audit.figures))
    _repairs.inc(max(0, len(answer.audit.attempts) - 1))
    for kind, count in answer.usage.items():
        _tokens.labels(answer.connector, kind.removesuffix("_tokens")).inc(count)
    for stage, seconds in answer.timings.items():
        if stage == "queue":
            _queue_wait.observe(seconds)
        else:
            _stages.labels(stage).observe(seconds)


def expired() -> None:
    """Count one question that nobody waits for any more; it was not worked on."""
    _questions.labels("expired").inc()


def failed(task: str, error: str, *, question: bool) -> None:
    """Count one failed task; `error` is the name of a class."""
    _failures.labels(task, error).inc()
    if question:
        _questions.labels("expired" if error == DEADLINE_ERROR else "failed").inc()


def ingested(report: IngestReport) -> None:
    """Count one finished ingest."""
    _ingests.labels("done").inc()
    _ingest_seconds.observe(report.seconds)
    _chunks.inc(report.chunks)
    counts = {"added": report.added, "changed": report.changed, "removed": report.removed, "renamed": report.renamed}
    for outcome, count in {**counts, "unchanged": report.unchanged, "refused": len(report.refused)}.items():
        _documents.labels(outcome).inc(count)


def ingest_failed() -> None:
    """Count one ingest that ended without a report."""
    _ingests.labels("failed").inc()


def redelivered(task: str) -> None:
    """Count one delivery above the first."""
    _redeliveries.labels(task).inc()


class _State(Collector):
    """What Redis holds at the moment of the scrape."""

    def __init__(self, look: Callable[[], Vitals | None]) -> None:
        self._look = look

    def describe(self) -> Iterable[Metric]:
        """Registering must not wait for Redis."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """Return gauges; only `rag_redis_up` while Redis is away."""
        vitals = self._look()
        yield GaugeMetricFamily("rag_redis_up", "1 while Redis answers.", value=float(vitals is not None))
        if vitals is not None:
            yield from _gauges(vitals)


def _gauges(vitals: Vitals) -> Iterable[Metric]:
    yield GaugeMetricFamily("rag_redis_used_bytes", "Memory that Redis uses.", value=vitals.used_bytes)
    yield GaugeMetricFamily(
        "rag_redis_limit_bytes", "Memory that Redis may use; 0: no limit.", value=vitals.limit_bytes
    )
    yield GaugeMetricFamily(
        "rag_redis_persistent", "1 while Redis' append-only file is on and writes.", value=float(vitals.persistent)
    )
    yield GaugeMetricFamily("rag_tasks_in_flight", "Tasks that a worker holds.", value=vitals.in_flight)
    waiting = GaugeMetricFamily("rag_tasks_waiting", "Tasks in the queue.", labels=["queue"])
    for queue, length in vitals.waiting.items():
        waiting.add_metric([queue], length)
    rows = GaugeMetricFamily("rag_index_rows", "Vectors of a collection.", labels=["collection"])
    size = GaugeMetricFamily("rag_index_bytes", "Bytes of its vectors and chunks in Redis.", labels=["collection"])
    ingest = GaugeMetricFamily(
        "rag_last_ingest_timestamp_seconds", "When an ingest of it last ended well.", labels=["collection"]
    )
    for name, collection in vitals.collections.items():
        rows.add_metric([name], collection.rows)
        size.add_metric([name], collection.bytes)
        if collection.last_ingest:
            ingest.add_metric([name], collection.last_ingest)
    yield from (waiting, rows, size, ingest)


def serve(host: str, port: int, *, state: Callable[[], Vitals | None] | None = None) -> Callable[[], None]:
    """Serve the page on `http://host:port/metrics`, with Redis' state where `state` tells it; return what ends it.

    Raises OSError where the port is taken.
    """
    server, thread = start_http_server(port, addr=host, registry=REGISTRY)
    collector = _State(state) if state else None
    if collector:
        REGISTRY.register(collector)

    def stop() -> None:
        server.shutdown()
        server.server_close()
        thread.join()
        if collector:
            REGISTRY.unregister(collector)

    return stop
