"""Facts about a running system in, findings in plain words out: what an operator asks at three in the morning."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from producer.checkup import (
    WORKERS,
    Finding,
    durability,
    eviction,
    fullness,
    nobody_listens,
    unreachable,
    waiting_words,
)
from worker.vitals import CollectionState, Vitals

_GIGABYTE: Final = 1e9
_LEAST_FREE_BYTES: Final = 2 * _GIGABYTE
# A night and some hours: later, one night brought nothing.
_STALE_SECONDS: Final = 26 * 3600.0


@dataclass(frozen=True, slots=True)
class Node:
    """One worker that answered."""

    queues: frozenset[str]
    active: int
    """Tasks that it works on."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What could be found out; `vitals` is None where Redis is away, and nothing behind it is known then."""

    redis: str
    """Why Redis cannot be asked; "" where it can."""
    vitals: Vitals | None
    nodes: Mapping[str, Node] = field(default_factory=dict)
    """Workers by name: `answer@spark`."""
    beat: bool = False
    models: Mapping[str, str] = field(default_factory=dict)
    """Why each connector's model cannot be asked; "" where it can."""
    embedder: str = ""
    """The fingerprint of the embedder that the settings name."""
    refused: Mapping[str, int] = field(default_factory=dict)
    """Documents without a chunk, a collection."""
    folders: Mapping[str, Path] = field(default_factory=dict)
    """What the nightly job ingests."""
    data_dir: Path = Path()
    free_bytes: int = 0
    """On the disk of `data_dir`."""
    now: float = field(default_factory=time.time)


def examine(facts: Facts) -> list[Finding]:
    """Return one finding a thing looked at, those that hold up everything else first."""
    if facts.vitals is None:
        return [unreachable(facts.redis), _disk(facts)]
    return [
        *_redis(facts.vitals),
        *(_queue(queue, facts.vitals, facts.nodes) for queue in WORKERS),
        _beat(facts),
        *(_model(name, problem) for name, problem in facts.models.items()),
        *(finding for name, state in facts.vitals.collections.items() for finding in _collection(name, state, facts)),
        *_folders(facts),
        _disk(facts),
    ]


def _redis(vitals: Vitals) -> Iterator[Finding]:
    yield Finding("ok", "Redis", f"answers, version {vitals.version}")
    yield fullness(vitals.used_bytes, vitals.limit_bytes)
    yield from eviction(vitals.eviction)
    yield durability(append_only=vitals.append_only, failed=vitals.append_only and not vitals.persistent)


def _queue(queue: str, vitals: Vitals, nodes: Mapping[str, Node]) -> Finding:
    """A queue without a worker waits for ever; one that waits beside an idle worker is wedged."""
    worker, waiting = WORKERS[queue], vitals.waiting[queue]
    here = {name: node for name, node in nodes.items() if queue in node.queues}
    active = sum(node.active for node in here.values())
    if not here:
        return nobody_listens(queue, waiting)
    found = f"{', '.join(sorted(here))} on {queue}, {active} in work, {waiting_words(waiting)}"
    if waiting and not active:
        return Finding("warning", worker, found, f"look again in a minute; if they still wait, restart the {worker}")
    return Finding("ok", worker, found)


def _beat(facts: Facts) -> Finding:
    if facts.beat or not facts.folders:
        return Finding("ok", "nightly job", "beat answers" if facts.beat else "RAG_FOLDERS is empty: none is wanted")
    return Finding("fault", "nightly job", "beat does not answer", "start beat; if it runs, look into its log")


def _model(name: str, problem: str) -> Finding:
    if problem:
        return Finding("fault", f"connector {name}", problem, "start the model server; see RAG_LOCAL_URL and its log")
    return Finding("ok", f"connector {name}", "can be asked")


def _collection(name: str, state: CollectionState, facts: Facts) -> Iterator[Finding]:
    subject, refused = f"collection {name}", facts.refused.get(name, 0)
    if facts.embedder and state.fingerprint != facts.embedder:
        yield Finding(
            "fault",
            subject,
            "another embedder wrote it: no question about it is answered",
            f"set RAG_EMBED_MODEL back, or run python -m worker rebuild {name}",
        )
    if state.warning:
        yield Finding("warning", subject, state.warning, "do what it says, and ingest again")
    age = None if state.last_ingest is None else facts.now - state.last_ingest
    found = f"{state.rows} chunks, {_ago(age)}" + (f", {refused} documents not indexed" if refused else "")
    if name in facts.folders and (age is None or age > _STALE_SECONDS):
        yield Finding("fault", subject, found, "look for the nightly job's error in the ingest worker's log")
    elif refused:
        yield Finding("warning", subject, found, f"`rag documents {name}` lists the reason of each")
    else:
        yield Finding("ok", subject, found)


def _ago(seconds: float | None) -> str:
    if seconds is None:
        return "never ingested"
    if seconds < 2 * 60:
        return "ingested just now"
    return (
        f"ingested {seconds / 60:.0f} minutes ago"
        if seconds < 2 * 3600
        else f"ingested {seconds / 3600:.0f} hours ago"
    )


def _folders(facts: Facts) -> Iterator[Finding]:
    """The ingest worker may see other folders than this machine does; then nothing is said."""
    for name, folder in facts.folders.items():
        if folder.is_dir() and not any(folder.iterdir()):
            yield Finding("warning", f"folder {folder}", f"is empty; {name} keeps what it has", "check its mount")


def _disk(facts: Facts) -> Finding:
    found = f"{facts.free_bytes / _GIGABYTE:.1f} GB free at {facts.data_dir}"
    if facts.free_bytes < _LEAST_FREE_BYTES:
        return Finding("warning", "disk", found, "make room: Redis' file and the logs grow")
    return Finding("ok", "disk", found)
