"""Settings in, the long-lived objects of a process out: store, embedder, index, connectors, the flows.

What is heavy is imported where it is built: beat and the ingest worker's parent need neither torch nor a model.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from worker.config import WorkerConfig, load
from worker.errors import StoreError, StoreUnavailable

if TYPE_CHECKING:
    from worker.access import Access
    from worker.answer import AnswerFlow
    from worker.claims import Claims
    from worker.connectors import Connector, Health
    from worker.embedding import Embedder
    from worker.index import Index
    from worker.ingest import IngestFlow
    from worker.journal import Journal
    from worker.noticeboard import Noticeboard
    from worker.pace import Pace
    from worker.single import SingleFlow
    from worker.store import Store
    from worker.stored import Generation

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
    def journal(self) -> Journal:
        """What workers write down in Redis beside the documents."""
        from worker.journal import Journal

        return Journal(self.config.broker_url)

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
    def access(self) -> Access:
        """Whose requests are worked on."""
        from worker.access import Access

        return Access(self.config.access_secrets)

    @cached_property
    def pace(self) -> Pace:
        """How long answers take here."""
        from worker.pace import Pace

        return Pace()

    @cached_property
    def board(self) -> Noticeboard:
        """What is told to apps beside results."""
        from worker.database import Database
        from worker.noticeboard import Noticeboard

        return Noticeboard(Database.connect(self.config.broker_url))

    @cached_property
    def index(self) -> Index:
        """The vectors of every collection that was asked for, on the device."""
        from worker.index import Index

        return Index(self.store, device=self.config.device, fingerprint=self.embedder.fingerprint, check=self._check)

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
        from worker.likeness import Likeness

        minimum = self.config.min_score
        return AnswerFlow(
            embedder=self.embedder,
            index=self.index,
            connectors=self.connectors,
            top_k=self.config.top_k,
            evidence_tokens=self.config.evidence_tokens,
            min_score=self.embedder.min_score if minimum is None else minimum,
            answer_tokens=self.config.answer_tokens,
            repairs={"local": self.config.repair_attempts},
            fallback="" if self.config.fallback == "off" else self.config.fallback,
            similarity=Likeness(self.embedder),
            trace=Trace(self.config.trace_dir) if self.config.trace_dir else None,
        )

    @cached_property
    def ingests(self) -> IngestFlow:
        """The ingest flow."""
        from worker.ingest import IngestFlow

        return IngestFlow(store=self.store, embedder=self.embedder, largest_loss=self.config.largest_loss)

    @cached_property
    def singles(self) -> SingleFlow:
        """The flow of single documents."""
        from worker.single import SingleFlow

        return SingleFlow(store=self.store, embedder=self.embedder)

    @cached_property
    def claims(self) -> Claims:
        """The bytes of uploads."""
        from worker.claims import Claims

        return Claims(self.store.database)

    def warm_up(self, *, answering: bool) -> None:
        """Build now what the first task would wait for; raises what building raises.

        A collection that this worker's embedder did not write is logged with its remedy; the others answer. A model
        that is away is logged, and may be up by the first question.
        """
        if not answering:
            _ = self.ingests
            return
        _ = self.answers
        threading.Thread(target=self._log_health, name="model-health", daemon=True).start()
        try:
            for collection in self.store.collections():
                self._check_live(collection)
        except StoreUnavailable as error:
            _log.warning("the stored collections are not checked now: %s", error)

    def _check_live(self, collection: str) -> None:
        try:
            generation = self.store.generation(collection, fingerprint=self.embedder.fingerprint)
            self._check(collection, generation)
        except StoreUnavailable:
            raise
        except StoreError as error:
            _log.critical("questions on collection %s will be refused: %s", collection, error)

    def _check(self, collection: str, generation: Generation) -> None:
        from worker.verification import require_same_vectors

        require_same_vectors(self.store, self.embedder, collection, generation)

    def ready(self) -> bool:
        """Say whether a question would find every collection resident and a model that answers; takes seconds."""
        self.index.load_all()
        # Claude's API is not asked every few seconds; the quoting connector needs no model.
        return "claude" in self.connectors or self.connectors["local"].health().reachable

    def health(self) -> dict[str, Health]:
        """Ask after every connector's model, by name; takes some seconds where one does not answer."""
        return {name: connector.health() for name, connector in self.connectors.items()}

    def faults(self, *, answering: bool) -> list[str]:
        """Return what an operator should mend, as sentences with the remedy; may take seconds."""
        from worker.faults import full_disk, unreachable_models, unreadable_collections

        found = full_disk(self.config.data_dir)
        if answering:
            found += unreachable_models(self.health())
            found += unreadable_collections(self.store, self.embedder.fingerprint)
        return found

    def _log_health(self) -> None:
        for name, health in self.health().items():
            _log.log(logging.INFO if health.reachable else logging.WARNING, "connector %s: %s", name, health)


_lock = threading.Lock()
_runtime: Runtime | None = None


def use(chosen: Runtime) -> None:
    """Make this the process's runtime, before anything asks for one: a benchmark's, with a lighter embedder."""
    global _runtime
    with _lock:
        _runtime = chosen


def current(build: Callable[[], WorkerConfig] = load) -> Runtime:
    """Return this process's runtime; the first call reads the settings."""
    global _runtime
    with _lock:
        if _runtime is None:
            _runtime = Runtime(build())
        return _runtime
