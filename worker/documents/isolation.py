"""Files are read in a child process that a hostile file can crash, hang or bloat without hurting the worker."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Final

from worker.documents.limits import Limits
from worker.documents.wire import READY, decode_answer, encode_request
from worker.errors import DocumentRefused, IngestError
from worker.records import Document

# How the reasons of the two refusals begin that only isolation can give.
CRASHED: Final = "crashed its reader"
TIMED_OUT: Final = "took longer"

_CHILD = "worker.documents.child"
_ROOT = Path(__file__).resolve().parents[2]
# A fresh child now and then, so that what a library leaks does not add up over a night.
_FILES_A_CHILD = 200
# The child gets no secret of the worker's environment: only what Python and the loader need.
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "SYSTEMROOT")


class IsolatedReader:
    """Keeps one warm child and restarts it after a crash; threads take turns.

    A plain subprocess, not multiprocessing: a Celery prefork child is a daemon and may have no such children.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._served = 0

    def read(self, path: Path, *, limits: Limits | None = None) -> Document:
        """Return the file's document, read in the child within the limits.

        Raises what `read_document` raises, and DocumentRefused where the file crashed the child or reached the
        time limit; IngestError where no child can be started.
        """
        limits = limits or Limits()
        request = encode_request(path.absolute(), limits)
        with self._lock:
            used = self._served > 0
            line = self._ask(request, limits.seconds)
            if not line and used:  # a child may also die of what it read before: only a fresh one convicts
                line = self._ask(request, limits.seconds)
        if not line:
            raise DocumentRefused(f"{CRASHED}; it is damaged or hostile")
        return decode_answer(line)

    @property
    def process_id(self) -> int:
        """The child's process id, 0 where none runs."""
        return self._process.pid if self._process else 0

    def close(self) -> None:
        """End the child; the next `read` starts a new one."""
        with self._lock:
            self._stop()

    def _ask(self, request: bytes, seconds: float) -> bytes:
        """Return the child's answer, nothing where it died. Raises DocumentRefused at the time limit."""
        child = self._child()
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            child.kill()

        timer = threading.Timer(seconds, expire)
        timer.daemon = True
        timer.start()
        try:
            line = _exchange(child, request)
        except BaseException:
            self._stop()  # interrupted half-way: the next answer would be this file's
            raise
        finally:
            timer.cancel()
        if line.endswith(b"\n"):
            return line
        self._stop()
        if expired.is_set():
            raise DocumentRefused(f"{TIMED_OUT} than {seconds:g} seconds to read; raise the limit or split it")
        return b""

    def _child(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None or self._served >= _FILES_A_CHILD:
            self._stop()
            self._process = _start()
        self._served += 1
        return self._process

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    _close(pipe)
        self._forget()

    def _forget(self) -> None:
        self._process, self._served = None, 0

    def after_fork(self) -> None:
        """Leave the child to the process that started it."""
        self._lock = threading.Lock()
        self._forget()


def _start() -> subprocess.Popen[bytes]:
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    environment["PYTHONPATH"] = str(_ROOT)
    child = subprocess.Popen(
        [sys.executable, "-m", _CHILD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=_ROOT,
        env=environment,
    )
    # Its imports take a while on a busy machine; no file's time limit pays for them.
    if child.stdout is None or child.stdout.readline() != READY:
        child.kill()
        child.wait()
        raise IngestError(f"the reader of documents does not start; `python -m {_CHILD}` in {_ROOT} says why")
    return child


def _exchange(child: subprocess.Popen[bytes], request: bytes) -> bytes:
    """Return the answer's line, or less than a line where the child died."""
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write(request)
        child.stdin.flush()
    except BrokenPipeError:
        return b""
    return child.stdout.readline()


def _close(pipe: IO[bytes]) -> None:
    with contextlib.suppress(BrokenPipeError):
        pipe.close()


class _Readers:
    """As many warm children as files are read at a time."""

    def __init__(self) -> None:
        self._idle: list[IsolatedReader] = []

    def read(self, path: Path, limits: Limits | None) -> Document:
        try:
            reader = self._idle.pop()
        except IndexError:
            reader = IsolatedReader()
        try:
            return reader.read(path, limits=limits)
        finally:
            self._idle.append(reader)

    def after_fork(self) -> None:
        for reader in self._idle:
            reader.after_fork()


_shared = _Readers()
os.register_at_fork(after_in_child=_shared.after_fork)


def read_isolated(path: Path, *, limits: Limits | None = None) -> Document:
    """Return the file's document, read by one of this process's shared children; see `IsolatedReader.read`."""
    return _shared.read(path, limits)
