"""What `rag check` makes of what it is told: each trouble has its sentence and its remedy."""

from __future__ import annotations

from typing import Any

import pytest

from producer.checkup import examine, is_well, unreachable
from producer.names import ANSWER_QUEUE, INGEST_QUEUE

WELL: dict[str, Any] = {
    "waiting": {ANSWER_QUEUE: 0, INGEST_QUEUE: 0},
    "workers": {
        ANSWER_QUEUE: [{"node": "answer@spark", "concurrency": 8, "faults": []}],
        INGEST_QUEUE: [{"node": "ingest@spark", "concurrency": 1, "faults": []}],
    },
    "memory": {
        "used_memory": 10_000_000,
        "maxmemory": 0,
        "total_system_memory": 10**9,
        "maxmemory_policy": "noeviction",
    },
    "persistence": {"aof_enabled": 1, "aof_last_write_status": "ok", "rdb_last_bgsave_status": "ok"},
}
TROUBLES = [
    ("memory", {"used_memory": 96, "maxmemory": 100, "maxmemory_policy": "noeviction"}, "fault", "raise maxmemory"),
    ("memory", {"used_memory": 85, "maxmemory": 100, "maxmemory_policy": "noeviction"}, "warning", "raise maxmemory"),
    ("memory", {**WELL["memory"], "maxmemory_policy": "allkeys-lru"}, "fault", "CONFIG SET maxmemory-policy"),
    ("memory", {}, "warning", "INFO"),
    ("persistence", {"aof_enabled": 1, "aof_last_write_status": "err"}, "fault", "disk"),
    ("persistence", {"aof_enabled": 1, "rdb_last_bgsave_status": "err"}, "fault", "disk"),
    ("persistence", {"aof_enabled": 0}, "warning", "appendonly"),
    ("waiting", {ANSWER_QUEUE: 1000, INGEST_QUEUE: 0}, "warning", "start another worker"),
    ("workers", {**WELL["workers"], ANSWER_QUEUE: []}, "fault", "start the answer worker"),
    (
        "workers",
        {**WELL["workers"], ANSWER_QUEUE: [{"node": "answer@spark", "concurrency": 8, "faults": ["no model"]}]},
        "fault",
        "no model",
    ),
]


def test_where_all_is_well_nothing_is_found_but_that():
    findings = examine(WELL)
    assert {finding.state for finding in findings} == {"ok"}
    assert is_well(findings)


@pytest.mark.parametrize(("part", "found", "state", "words"), TROUBLES)
def test_each_trouble_has_its_sentence_and_its_remedy(part, found, state, words):
    findings = examine({**WELL, part: found})
    (trouble,) = (finding for finding in findings if finding.state != "ok")
    assert (trouble.state, words in trouble.found + trouble.remedy) == (state, True)
    assert is_well(findings) == (state != "fault")


def test_a_redis_that_is_away_is_a_fault_that_names_the_setting():
    finding = unreachable("Redis cannot be reached")
    assert not is_well([finding])
    assert (finding.found, "RAG_BROKER_URL" in finding.remedy) == ("cannot be reached", True)
