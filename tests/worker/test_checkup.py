"""What an operator is told: each fault is found, named in plain words, and comes with what to do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from producer.checkup import Finding
from producer.names import ANSWER_QUEUE, INGEST_QUEUE
from worker.checkup import Facts, Node, examine
from worker.errors import StoreUnavailable
from worker.store import Store
from worker.vitals import CollectionState, Vitals, look

HOUR = 3600.0
NOW = 1_800_000_000.0
COLLECTION = CollectionState(rows=80, bytes=1000, fingerprint="minilm", last_ingest=NOW - HOUR)
VITALS = Vitals(
    version="9.1.2",
    used_bytes=1 << 30,
    limit_bytes=4 << 30,
    eviction="noeviction",
    append_only=True,
    persistent=True,
    waiting={ANSWER_QUEUE: 0, INGEST_QUEUE: 0},
    in_flight=0,
    collections={"handbook": COLLECTION},
)
FACTS = Facts(
    redis="",
    vitals=VITALS,
    nodes={
        "answer@spark": Node(frozenset({ANSWER_QUEUE}), active=0),
        "ingest@spark": Node(frozenset({INGEST_QUEUE}), active=0),
    },
    beat=True,
    models={"local": ""},
    embedder="minilm",
    folders={"handbook": Path("/srv/handbook")},
    free_bytes=100 << 30,
    now=NOW,
)


def faults(facts: Facts) -> list[Finding]:
    return [finding for finding in examine(facts) if finding.state != "ok"]


def with_vitals(**changes: object) -> Facts:
    return replace(FACTS, vitals=replace(VITALS, **changes))


def with_collection(**changes: object) -> Facts:
    return with_vitals(collections={"handbook": replace(COLLECTION, **changes)})


def test_where_all_is_well_nothing_is_to_be_done():
    assert faults(FACTS) == []
    assert all(not finding.remedy for finding in examine(FACTS))


CASES = {
    "redis is away": (Facts("Redis cannot be reached", None, free_bytes=9 << 30), "Redis", "fault", "start Redis"),
    "nothing is written to disk": (with_vitals(append_only=False), "Redis' disk", "warning", "appendonly yes"),
    "the disk of Redis is full": (with_vitals(persistent=False), "Redis' disk", "fault", "make room"),
    "Redis evicts": (with_vitals(eviction="allkeys-lru"), "Redis' memory", "fault", "noeviction"),
    "Redis is nearly full": (with_vitals(used_bytes=7 << 29), "Redis' memory", "warning", "raise maxmemory"),
    "no answer worker": (
        replace(FACTS, nodes={"ingest@spark": FACTS.nodes["ingest@spark"]}),
        "answer worker",
        "fault",
        "start the answer worker",
    ),
    "a worker that takes nothing": (
        with_vitals(waiting={ANSWER_QUEUE: 7, INGEST_QUEUE: 0}),
        "answer worker",
        "warning",
        "restart the answer worker",
    ),
    "beat is away": (replace(FACTS, beat=False), "nightly job", "fault", "beat"),
    "the model is away": (
        replace(FACTS, models={"local": "ConnectError"}),
        "connector local",
        "fault",
        "RAG_LOCAL_URL",
    ),
    "another embedder": (
        with_collection(fingerprint="other"),
        "collection handbook",
        "fault",
        "rebuild handbook",
    ),
    "a night was missed": (
        with_collection(last_ingest=NOW - 30 * HOUR),
        "collection handbook",
        "fault",
        "ingest worker's log",
    ),
    "an ingest that left something undone": (
        with_collection(warning="7 of 8 documents are gone"),
        "collection handbook",
        "warning",
        "do what it says",
    ),
    "never ingested": (with_collection(last_ingest=None), "collection handbook", "fault", "ingest worker's log"),
    "documents that cannot be read": (
        replace(FACTS, refused={"handbook": 3}),
        "collection handbook",
        "warning",
        "reason",
    ),
    "the disk is nearly full": (replace(FACTS, free_bytes=1 << 30), "disk", "warning", "make room"),
}


@pytest.mark.parametrize(("facts", "subject", "state", "remedy"), CASES.values(), ids=CASES)
def test_each_fault_is_found_alone_and_comes_with_what_to_do(facts: Facts, subject: str, state: str, remedy: str):
    (fault,) = faults(facts)
    assert (fault.subject, fault.state) == (subject, state)
    assert fault.found
    assert remedy in fault.remedy


def test_an_empty_folder_is_told(tmp_path: Path):
    facts = replace(FACTS, folders={"handbook": tmp_path})
    assert [(fault.subject, fault.state) for fault in faults(facts)] == [(f"folder {tmp_path}", "warning")]


def test_a_busy_worker_with_a_queue_before_it_is_no_fault():
    busy = {**FACTS.nodes, "answer@spark": Node(frozenset({ANSWER_QUEUE}), active=8)}
    facts = replace(with_vitals(waiting={ANSWER_QUEUE: 20, INGEST_QUEUE: 0}), nodes=busy)
    assert faults(facts) == []


def test_the_vitals_are_what_a_real_server_says(redis_url: str):
    store = Store.connect(redis_url)
    store.ensure("handbook", fingerprint="minilm", dimension=2)
    vitals = look(redis_url, store)
    assert vitals.collections["handbook"].fingerprint == "minilm"
    assert (vitals.eviction, vitals.append_only, vitals.waiting) == (
        "noeviction",
        False,
        {ANSWER_QUEUE: 0, INGEST_QUEUE: 0},
    )
    assert vitals.used_bytes > 0
    store.close()


def test_a_server_that_is_away_is_told_as_such_within_seconds():
    away = "redis://127.0.0.1:9/0"
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        look(away, Store.connect(away))
