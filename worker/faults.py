"""What a worker sees around it in, sentences for an operator out: what is wrong, and what to do about it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from worker.connectors import Health
from worker.errors import StoreError
from worker.store import Store

# An ingest of a folder can take gigabytes in a night.
_FREE_SHARE: Final = 0.05


def full_disk(folder: Path) -> list[str]:
    """Say where the disk of the data folder is nearly full."""
    present = next((path for path in (folder.absolute(), *folder.absolute().parents) if path.exists()), Path("/"))
    usage = shutil.disk_usage(present)
    if usage.free >= usage.total * _FREE_SHARE:
        return []
    free = f"{usage.free / 1e9:.1f} GB of {usage.total / 1e9:.0f} GB are free"
    return [f"the worker's disk is nearly full ({free} at {present}); make room"]


def unreachable_models(health: Mapping[str, Health]) -> list[str]:
    """Say which models cannot be asked, and why."""
    away = {name: told.problem for name, told in health.items() if not told.reachable}
    return [f"the {name} model cannot be asked: {problem}" for name, problem in away.items()]


def unreadable_collections(store: Store, fingerprint: str) -> list[str]:
    """Say which collections the embedder of this fingerprint cannot answer from, and what to do."""
    found = []
    for name in store.collections():
        try:
            store.generation(name, fingerprint=fingerprint)
        except StoreError as error:
            found.append(str(error))
    return found
