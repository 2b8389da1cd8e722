"""A GGUF file in, an OpenAI-compatible server out: llama.cpp's, as the wheel `xllamacpp` carries it."""

from __future__ import annotations

import os
import signal
import threading

from worker.config import ModelServerConfig
from worker.errors import StackError

_QUIET = 1


def serve(config: ModelServerConfig) -> None:
    """Serve until SIGTERM or SIGINT; raises StackError where there is no such file or no xllamacpp."""
    if not config.file.is_file():
        raise StackError(f"there is no model file {config.file}; run `make models`, or set RAG_MODEL_FILE")
    server = _start(config)
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    stopped.wait()
    del server


def _start(config: ModelServerConfig) -> object:
    try:
        import xllamacpp
    except ImportError as error:
        raise StackError("xllamacpp is not installed; install rag-kit[embedded]") from error
    params = xllamacpp.CommonParams()
    params.model.path = str(config.file)
    params.model_alias = {config.file.stem}
    params.hostnames = [config.host]
    params.port = config.port
    params.n_parallel = config.parallel
    # llama.cpp shares one context among its slots.
    params.n_ctx = config.context * config.parallel
    # Its threads wait by spinning: one for each core would starve the embedder, and itself, many times over.
    threads = config.threads or max(1, (os.cpu_count() or 1) // 2)
    for pool in (params.cpuparams, params.cpuparams_batch):
        pool.n_threads = threads
    params.verbosity = _QUIET
    params.ui = False
    return xllamacpp.Server(params)
