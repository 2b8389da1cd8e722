"""A folder in, the stack's own processes out, on free ports: to be killed, frozen, cut off and started again."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import redis

from worker.embedded import Stack, prepare, services
from worker.supervisor import Service, Supervisor

START_SECONDS = 180.0
_WATCH_SECONDS = 0.2


class Crew:
    """Runs chosen services of the embedded stack with another app; who dies is started again while `watching`."""

    def __init__(self, folder: Path, *, app: str, settings: Mapping[str, str]) -> None:
        self.stack: Stack = prepare(folder)
        self.said: list[str] = []
        environment = {name: value for name, value in os.environ.items() if not name.startswith("RAG_")}
        self._services = {
            service.name: _with_app(service, app) for service in services(self.stack, {**environment, **settings})
        }
        self.supervisor = Supervisor(self.stack.folder / "logs", say=self.said.append)

    @property
    def url(self) -> str:
        """The administrator's URL: faults are made by the way in which questions are asked."""
        return self.stack.url("default")

    def start(self, *names: str) -> None:
        """Start services, each when the one before is ready."""
        for name in names:
            self.supervisor.start(self._services[name], timeout=START_SECONDS)

    def start_another(self, name: str, node: str) -> None:
        """Start a second process of a service under another name."""
        service = self._services[name]
        command = [word.replace(f"--hostname={name}@", f"--hostname={node}@") for word in service.command]
        other = replace(service, name=node, command=command, ready=lambda: True)
        self.supervisor.start(other, timeout=START_SECONDS)

    def pid(self, name: str) -> int:
        """The process id of a service."""
        return self.supervisor.pids()[name]

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to a service's process."""
        os.kill(self.pid(name), number)

    def children(self, name: str) -> list[int]:
        """The process ids of a service's children."""
        pid = self.pid(name)
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def kill_children(self, name: str) -> None:
        """Kill the children of a service's process: a prefork worker starts others."""
        for child in self.children(name):
            os.kill(child, signal.SIGKILL)

    def client(self) -> redis.Redis:
        """A connection to the crew's Redis."""
        return redis.Redis.from_url(self.url, socket_timeout=30)

    def log(self, name: str) -> str:
        """What a service has printed."""
        return (self.stack.folder / "logs" / f"{name}.log").read_text(errors="replace")

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Start again who dies, until the end of the block."""
        stop = threading.Event()

        def watch() -> None:
            while not stop.wait(_WATCH_SECONDS):
                self.supervisor.watch()

        thread = threading.Thread(target=watch, name="watch")
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def restart(self, name: str, *, pause: float = 0.0) -> None:
        """Kill a service and start it again, and wait until it is ready."""
        self.signal(name, signal.SIGKILL)
        self.supervisor.end(name)
        time.sleep(pause)
        self.supervisor.start(self._services[name], timeout=START_SECONDS)

    def end(self, name: str) -> None:
        """End a service as its operator does, and wait for it."""
        self.supervisor.end(name)

    def ended(self, name: str) -> bool:
        """Say whether a service's process has ended by itself."""
        return self.supervisor.ended(name)

    def stop(self) -> None:
        """End everything."""
        self.supervisor.stop()


def _with_app(service: Service, app: str) -> Service:
    command: Sequence[str] = [word.replace("--app=worker.app", f"--app={app}") for word in service.command]
    return replace(service, command=command)
