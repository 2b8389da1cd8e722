"""What a worker tells an operator: sentences that name the thing and the remedy, and nothing where all is well."""

from __future__ import annotations

from pathlib import Path

from worker.connectors import Health
from worker.faults import full_disk, unreachable_models, unreadable_collections
from worker.store import Store


def test_a_disk_with_room_is_no_fault(tmp_path: Path):
    assert full_disk(tmp_path / "not" / "there" / "yet") == []


def test_a_model_that_cannot_be_asked_is_named_with_the_reason():
    health = {"local": Health(reachable=False, problem="its server is away"), "claude": Health(reachable=True)}
    assert unreachable_models(health) == ["the local model cannot be asked: its server is away"]


def test_a_collection_of_another_embedder_is_named_with_the_command_that_mends_it(redis_url):
    store = Store.connect(redis_url)
    store.ensure("old", fingerprint="another", dimension=3)
    store.ensure("new", fingerprint="mine", dimension=3)
    (fault,) = unreadable_collections(store, "mine")
    assert "python -m worker rebuild old" in fault
    store.close()
