"""The process that reads files for `isolation`: a request a line in, an answer a line out, until its input ends."""

from __future__ import annotations

import os
import resource
import signal
import sys
import warnings
from typing import BinaryIO

from worker.documents.limits import Limits
from worker.documents.reading import read_document
from worker.documents.wire import READY, decode_request, encode_document, encode_error
from worker.errors import DocumentError

# The parent kills at the limit; this is for a parent that is no longer there to do it.
_GRACE_SECONDS = 10.0
# With nothing to read for so long its memory is better given back; the next file starts another child.
_IDLE_SECONDS = 60.0


def main() -> None:
    """Serve requests; a file may kill this process, by a crash or at a limit."""
    warnings.simplefilter("ignore")  # parsers warn of every oddity of a file
    answers = _private_output()
    answers.write(READY)
    answers.flush()
    for line in sys.stdin.buffer:
        answers.write(_answer(line))
        answers.flush()


def _answer(line: bytes) -> bytes:
    path, limits = decode_request(line)
    _enforce(limits)
    try:
        return encode_document(read_document(path, limits=limits))
    except DocumentError as error:
        return encode_error(error)
    finally:
        signal.setitimer(signal.ITIMER_REAL, _IDLE_SECONDS)


def _enforce(limits: Limits) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    ceiling = limits.memory_bytes if hard == resource.RLIM_INFINITY else min(limits.memory_bytes, hard)
    if sys.platform == "linux":  # elsewhere the kernel refuses or ignores this limit
        resource.setrlimit(resource.RLIMIT_AS, (ceiling, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.setitimer(signal.ITIMER_REAL, limits.seconds + _GRACE_SECONDS)


def _private_output() -> BinaryIO:
    """Return the pipe to the parent; what libraries print goes nowhere and cannot garble the answers."""
    pipe = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    return pipe


if __name__ == "__main__":
    main()
