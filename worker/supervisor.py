"""Commands in, running processes out: each is restarted when it dies, later and later, and all stop together."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from worker.errors import StackError

_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 30.0
# A process that lived this long starts with a short pause again.
_STABLE_SECONDS = 60.0
_LOOK_SECONDS = 0.2
_STOP_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Service:
    """One process of the stack; `ready` says whether it does its work yet."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    ready: Callable[[], bool]


@dataclass(slots=True)
class _Child:
    service: Service
    process: subprocess.Popen[bytes]
    started: float
    pause: float = _FIRST_PAUSE
    restart_at: float | None = None


@dataclass
class Supervisor:
    """Runs services in the order of `start`; `say` is told in words whatever a person should know.

    Children get `keep_open` (file descriptors): what is locked through one stays locked while a child lives.
    """

    logs: Path
    say: Callable[[str], None]
    keep_open: tuple[int, ...] = ()
    _children: dict[str, _Child] = field(default_factory=dict)

    def start(self, service: Service, *, timeout: float) -> float:
        """Start a service and return the seconds it took to be ready; raises StackError."""
        self._children[service.name] = _Child(service, self._spawn(service), time.monotonic())
        child = self._children[service.name]
        while not service.ready():
            code = child.process.poll()
            if code is not None:
                raise StackError(f"{service.name} ended at once (exit code {code}):\n{self._last_words(service)}")
            if time.monotonic() - child.started > timeout:
                raise StackError(f"{service.name} was not ready in {timeout:g} s:\n{self._last_words(service)}")
            time.sleep(_LOOK_SECONDS)
        return time.monotonic() - child.started

    def watch(self) -> bool:
        """Look once at every child: note the dead, restart those whose pause is over; say whether one was."""
        restarted = False
        for child in self._children.values():
            if child.restart_at is None and child.process.poll() is not None:
                self._plan_restart(child)
            elif child.restart_at is not None and time.monotonic() >= child.restart_at:
                self._restart(child)
                restarted = True
        return restarted

    def pids(self) -> dict[str, int]:
        """Return the process id of each service."""
        return {name: child.process.pid for name, child in self._children.items()}

    def ended(self, name: str) -> bool:
        """Say whether a service's process has ended and was not started again."""
        return self._children[name].process.poll() is not None

    def stop(self) -> None:
        """Stop all, the last started first; who does not end in time is killed, and said so."""
        for name in reversed(list(self._children)):
            self.end(name)

    def end(self, name: str) -> None:
        """Stop one service, for good."""
        child = self._children.pop(name)
        if child.process.poll() is None:
            child.process.send_signal(signal.SIGTERM)
            self._await_end(child)

    def _await_end(self, child: _Child) -> None:
        try:
            child.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.say(f"{child.service.name} did not end in {_STOP_SECONDS:g} s and was killed")
            os.killpg(child.process.pid, signal.SIGKILL)
            child.process.wait()

    def _plan_restart(self, child: _Child) -> None:
        lived = time.monotonic() - child.started
        child.pause = _FIRST_PAUSE if lived > _STABLE_SECONDS else child.pause
        child.restart_at = time.monotonic() + child.pause
        code = child.process.returncode
        self.say(f"{child.service.name} died (exit code {code}); it is started again in {child.pause:g} s")

    def _restart(self, child: _Child) -> None:
        child.process = self._spawn(child.service)
        child.started = time.monotonic()
        child.restart_at = None
        child.pause = min(child.pause * 2, _LONGEST_PAUSE)
        self.say(f"{child.service.name} was started again")

    def _spawn(self, service: Service) -> subprocess.Popen[bytes]:
        """Start in a session of its own: ctrl-C is for the supervisor, which stops its children in order."""
        self.logs.mkdir(parents=True, exist_ok=True)
        with self._log(service).open("ab") as log:
            return subprocess.Popen(
                list(service.command),
                env=dict(service.environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=self.keep_open,
            )

    def _log(self, service: Service) -> Path:
        return self.logs / f"{service.name}.log"

    def _last_words(self, service: Service) -> str:
        lines = self._log(service).read_text(errors="replace").splitlines()
        return "\n".join(["  " + line for line in lines[-12:]] + [f"  (all of it: {self._log(service)})"])
