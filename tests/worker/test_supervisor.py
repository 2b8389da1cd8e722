"""A supervisor starts, watches, restarts and stops real processes, and says what it does."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from worker.errors import StackError
from worker.supervisor import Service, Supervisor

SLEEPS = [sys.executable, "-c", "import time; time.sleep(600)"]


def service(command=SLEEPS, *, name="sleeper", ready=lambda: True) -> Service:
    return Service(name, command, dict(os.environ), ready)


@pytest.fixture
def said():
    return []


@pytest.fixture
def supervisor(tmp_path: Path, said):
    supervisor = Supervisor(tmp_path / "logs", say=said.append)
    yield supervisor
    supervisor.stop()


def watch_until(supervisor: Supervisor, happened) -> None:
    end = time.monotonic() + 30
    while not happened():
        assert time.monotonic() < end, "it never happened"
        supervisor.watch()
        time.sleep(0.05)


def test_a_service_that_is_killed_is_started_again_and_both_are_said(supervisor, said):
    supervisor.start(service(), timeout=10)
    first = supervisor.pids()["sleeper"]
    os.kill(first, signal.SIGKILL)
    watch_until(supervisor, lambda: len(said) == 2)
    assert said[0] == "sleeper died (exit code -9); it is started again in 1 s"
    assert said[1] == "sleeper was started again"
    assert supervisor.pids()["sleeper"] != first


def test_a_service_that_keeps_dying_is_started_later_and_later(supervisor, said):
    supervisor.start(service([sys.executable, "-c", "import time; time.sleep(0.1)"]), timeout=10)
    watch_until(supervisor, lambda: len(said) >= 5)
    pauses = [words for words in said if "died" in words]
    assert pauses[0].endswith("in 1 s")
    assert pauses[1].endswith("in 2 s")
    assert pauses[2].endswith("in 4 s")


def test_a_service_that_ends_at_once_is_an_error_with_its_last_words(supervisor):
    with pytest.raises(StackError, match="no such setting"):
        supervisor.start(
            service([sys.executable, "-c", "import sys; sys.exit('no such setting')"], ready=lambda: False),
            timeout=20,
        )


def test_a_service_that_is_never_ready_is_an_error(supervisor):
    with pytest.raises(StackError, match=r"not ready in 0\.5 s"):
        supervisor.start(service(ready=lambda: False), timeout=0.5)


def test_stopping_ends_every_process_the_last_started_first(supervisor):
    for name in ("first", "second"):
        supervisor.start(service(name=name), timeout=10)
    pids = supervisor.pids().values()
    supervisor.stop()
    assert not any(alive(pid) for pid in pids)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
