"""A running system in, the facts about it out: asks Redis, the workers, beat and the models, each within seconds."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Final

from worker.app import app
from worker.checkup import Facts, Node
from worker.errors import StoreError
from worker.runtime import Runtime
from worker.vitals import look

_SECONDS: Final = 2.0


def inspect(runtime: Runtime, *, quick: bool = False) -> Facts:
    """Return what can be found out; `quick` leaves out the embedder, which takes seconds to load."""
    config = runtime.config
    free = _free_bytes(config.data_dir)
    try:
        vitals = look(config.broker_url, runtime.store)
    except StoreError as error:
        return Facts(str(error), None, data_dir=config.data_dir, free_bytes=free)
    nodes, beat = _nodes()
    return Facts(
        redis="",
        vitals=vitals,
        nodes=nodes,
        beat=beat,
        models={name: "" if health.reachable else health.problem for name, health in runtime.health().items()},
        embedder=runtime.embedder.fingerprint if vitals.collections and not quick else "",
        refused={name: _refused(runtime, name) for name in vitals.collections},
        folders=dict(config.folders),
        data_dir=config.data_dir,
        free_bytes=free,
    )


def _nodes() -> tuple[dict[str, Node], bool]:
    """The workers that answer a call to all, and whether beat does."""
    asked: Any = app.control.inspect(timeout=_SECONDS)
    queues, active = asked.active_queues() or {}, asked.active() or {}
    nodes = {
        name: Node(frozenset(queue["name"] for queue in listed), len(active.get(name, ())))
        for name, listed in queues.items()
    }
    return nodes, any(name.startswith("celerybeat@") for name in asked.ping() or {})


def _refused(runtime: Runtime, collection: str) -> int:
    return sum(info.state != "indexed" for info in runtime.store.documents(collection).values())


def _free_bytes(folder: Path) -> int:
    """Of the disk that the folder lies on, or would."""
    lasting = next(place for place in (folder.resolve(), *folder.resolve().parents) if place.exists())
    return shutil.disk_usage(lasting).free
