"""A short run of the benchmarks that prove that nothing is lost: under faults, and under too many questions."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import chaos
from benchmarks.load_test import rush, worker

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_under_faults_nothing_is_lost_done_twice_torn_or_stuck():
    figures, run = chaos.measure(26, app="benchmarks.light", between=2.5, visibility=4)
    assert run.faults.total() >= 4
    assert figures["answered"] > 20
    for name in ("lost", "torn_answers", "wrong", "answered_twice", "stuck"):
        assert figures[name] == 0, (name, figures, run.oddities)


def test_A11_a_backlog_expires_instead_of_holding_up_what_is_still_wanted(tmp_path: Path):
    with worker(tmp_path) as crew:
        figures = rush(crew, 600, rate=2000, deadline=1.5).figures("")
        assert figures["without_end_"] == 0
        assert figures["expired_"] > 0
        assert figures["answered_"] > 0
        assert figures["wait_p95_s_"] < 1.5 + 0.5
        after = rush(crew, 8, rate=100, deadline=30).figures("")
    assert after["answered_"] == 8
