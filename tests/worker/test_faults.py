"""What a worker tells an operator: sentences that name the thing and the remedy, and nothing where all is well."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from worker.faults import full_disk, unreachable_models, unreadable_collections
from worker.store import Store


@dataclass(frozen=True)
class Health:
    reachable: bool


@dataclass(frozen=True)
class Model:
    reachable: bool

    def health(self) -> Health:
        return Health(self.reachable)


def test_a_disk_with_room_is_no_fault(tmp_path: Path):
    assert full_disk(tmp_path / "not" / "there" / "yet") == []


def test_a_model_server_that_does_not_answer_is_named_with_its_setting():
    (fault,) = unreachable_models({"local": Model(reachable=False), "claude": Model(reachable=True)})
    assert "local" in fault
    assert "RAG_LOCAL_URL" in fault


def test_a_connector_that_cannot_tell_is_no_fault():
    assert unreachable_models({"scripted": object()}) == []


def test_a_collection_of_another_embedder_is_named_with_the_command_that_mends_it(redis_url):
    store = Store.connect(redis_url)
    store.ensure("old", fingerprint="another", dimension=3)
    store.ensure("new", fingerprint="mine", dimension=3)
    (fault,) = unreadable_collections(store, "mine")
    assert "python -m worker rebuild old" in fault
    store.close()
