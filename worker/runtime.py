"""Settings in, the long-lived objects of a process out: store, embedder, index, connectors, the two flows.

What is heavy is imported where it is built: beat and the ingest worker's parent need neither torch nor a model.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from worker.config import WorkerConfig, load

if TYPE_CHECKING:
    from worker.answer import AnswerFlow
    from worker.connectors import Connector
    from worker.embedding import Embedder
    from worker.ingest import IngestFlow
    from worker.noticeboard import Noticeboard
    from worker.store import Store


class Runtime:
    """Builds each object once, when it is first wanted; an ingest worker never builds an index."""

    def __init__(self, config: WorkerConfig) -> None:
        self.config = config

    @cached_property
    def store(self) -> Store:
        """The documents in Redis."""
        from worker.store import Store

        return Store.connect(self.config.broker_url)

    @cached_property
    def embedder(self) -> Embedder:
        """The embedding model on its device; raises SettingError, EmbeddingError."""
        from worker.embedding import Embedder

        return Embedder(
            self.config.embed_model or None,
            device=self.config.device,
            query_prompt=self.config.embed_query_prompt,
            passage_prompt=self.config.embed_passage_prompt,
        )

    @cached_property
    def board(self) -> Noticeboard:
        """What is told to apps beside results."""
        from worker.noticeboard import Noticeboard

        return Noticeboard(self.config.broker_url)

    @cached_property
    def connectors(self) -> dict[str, Connector]:
        """The models that can be asked."""
        return self._connectors()

    @cached_property
    def answers(self) -> AnswerFlow:
        """The answer flow with its resident index."""
        from worker.answer import AnswerFlow
        from worker.drafts import Trace
        from worker.index import Index

        minimum = self.config.min_score
        return AnswerFlow(
            embedder=self.embedder,
            index=Index(self.store, device=self.config.device, fingerprint=self.embedder.fingerprint),
            connectors=self.connectors,
            top_k=self.config.top_k,
            evidence_tokens=self.config.evidence_tokens,
            min_score=self.embedder.min_score if minimum is None else minimum,
            answer_tokens=self.config.answer_tokens,
            trace=Trace(self.config.trace_dir) if self.config.trace_dir else None,
        )

    @cached_property
    def ingests(self) -> IngestFlow:
        """The ingest flow."""
        from worker.ingest import IngestFlow

        return IngestFlow(store=self.store, embedder=self.embedder)

    def warm_up(self, *, answering: bool) -> None:
        """Build now what the first task would wait for; raises what building raises."""
        _ = self.answers if answering else self.ingests

    def faults(self, *, answering: bool) -> list[str]:
        """Return what an operator should mend, as sentences with the remedy; may take seconds."""
        from worker.faults import full_disk, unreachable_models, unreadable_collections

        found = full_disk(self.config.data_dir)
        if answering:
            found += unreachable_models(self.connectors) + unreadable_collections(
                self.store, self.embedder.fingerprint
            )
        return found

    def _connectors(self) -> dict[str, Connector]:
        """Claude is there only where a key is: a question that chooses it elsewhere is refused, not rerouted."""
        from worker.connectors.claude import ClaudeConnector
        from worker.connectors.local import LocalConnector

        config = self.config
        connectors: dict[str, Connector] = {
            "local": LocalConnector(config.local_url, model=config.local_model, api_key=config.local_api_key)
        }
        if config.claude_api_key:
            connectors["claude"] = ClaudeConnector(
                api_key=config.claude_api_key, model=config.claude_model, url=config.claude_url
            )
        return connectors


_lock = threading.Lock()
_runtime: Runtime | None = None


def current(build: Callable[[], WorkerConfig] = load) -> Runtime:
    """Return this process's runtime; the first call reads the settings."""
    global _runtime
    with _lock:
        if _runtime is None:
            _runtime = Runtime(build())
        return _runtime
