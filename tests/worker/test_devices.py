"""Devices and what fits on them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

from worker.devices import free_bytes, require, resolve
from worker.errors import CollectionTooLarge, SettingError


def test_auto_takes_cuda_where_there_is_one():
    assert resolve("auto") == ("cuda" if torch.cuda.is_available() else "cpu")
    assert resolve("cpu") == "cpu"


REFUSED = """
from worker.embedding import Embedder
from worker.errors import SettingError
from worker.index import Index
from worker.store import Store

for build in (lambda: Embedder(device="cuda"), lambda: Index(Store.connect("redis://localhost"), device="cuda")):
    try:
        build()
    except SettingError as error:
        print(error)
"""


def test_cuda_on_a_machine_without_it_is_an_error_at_start_that_names_the_remedy():
    """Never a silent fall to the CPU; a fresh process, in which torch sees no device on any machine."""
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    run = subprocess.run([sys.executable, "-c", REFUSED], capture_output=True, text=True, env=environment, check=True)
    assert run.stdout.count("torch sees no CUDA device: set 'cpu'") == 2


def test_an_unknown_device_is_refused():
    with pytest.raises(SettingError, match="unknown device 'gpu'"):
        resolve("gpu")


def test_what_fits_passes_and_what_does_not_is_refused_with_the_numbers():
    free = free_bytes("cpu")
    assert free > 0
    require(1, "cpu", "two vectors")
    with pytest.raises(CollectionTooLarge, match=r"two vectors need [\d.]+ GB and [\d.]+ GB is free on cpu"):
        require(free * 10, "cpu", "two vectors")
