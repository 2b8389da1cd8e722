"""Settings in, the long-lived objects of a process out: store, embedder, index, connectors, the two flows.

What is heavy is imported where it is built: beat and the ingest worker's parent need neither torch nor a model.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from worker.config import WorkerConfig, load

if TYPE_CHECKING:
    from worker.answer import AnswerFlow
    from worker.connectors import Connector, Health
    from worker.embedding import Embedder
    from worker.ingest import IngestFlow
    from worker.store import Store


_log = logging.getLogger(__name__)


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
    def connectors(self) -> dict[str, Connector]:
        """The models by name; Claude only where a key is: a question that chooses it elsewhere is refused."""
        from worker.connectors.claude import ClaudeConnector
        from worker.connectors.extract import ExtractConnector
        from worker.connectors.local import LocalConnector

        config = self.config
        local = LocalConnector(
            config.local_url,
            model=config.local_model,
            api_key=config.local_api_key,
            constrained=config.constrained == "auto",
            context=config.local_context,
            in_flight=config.local_in_flight,
        )
        connectors: dict[str, Connector] = {"local": local, "extract": ExtractConnector(self.embedder)}
        if config.claude_api_key:
            connectors["claude"] = ClaudeConnector(
                api_key=config.claude_api_key, model=config.claude_model, url=config.claude_url
            )
        return connectors

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
            repairs={"local": self.config.repair_attempts},
            fallback="" if self.config.fallback == "off" else self.config.fallback,
            trace=Trace(self.config.trace_dir) if self.config.trace_dir else None,
        )

    @cached_property
    def ingests(self) -> IngestFlow:
        """The ingest flow."""
        from worker.ingest import IngestFlow

        return IngestFlow(store=self.store, embedder=self.embedder)

    def warm_up(self, *, answering: bool) -> None:
        """Build now what the first task would wait for; raises what building raises.

        A model that is away is logged, and stops nothing: it may be up by the first question.
        """
        if answering:
            _ = self.answers
            threading.Thread(target=self._log_health, name="model-health", daemon=True).start()
        else:
            _ = self.ingests

    def health(self) -> dict[str, Health]:
        """Ask after every connector's model, by name; takes some seconds where one does not answer."""
        return {name: connector.health() for name, connector in self.connectors.items()}

    def _log_health(self) -> None:
        for name, health in self.health().items():
            _log.log(logging.INFO if health.reachable else logging.WARNING, "connector %s: %s", name, health)


_lock = threading.Lock()
_runtime: Runtime | None = None


def current(build: Callable[[], WorkerConfig] = load) -> Runtime:
    """Return this process's runtime; the first call reads the settings."""
    global _runtime
    with _lock:
        if _runtime is None:
            _runtime = Runtime(build())
        return _runtime
