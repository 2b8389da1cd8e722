"""Which device torch works on, and whether what is to be put there fits."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import torch

from worker.errors import CollectionTooLarge, SettingError

_MEMINFO: Final = Path("/proc/meminfo")
_CGROUP: Final = Path("/sys/fs/cgroup")
_NO_LIMIT: Final = 1 << 62


def resolve(device: str) -> str:
    """Turn `auto`, `cpu` or `cuda` into `cpu` or `cuda`.

    Raises:
        SettingError: another word, or `cuda` on a machine without CUDA: never a silent fall to the CPU.
    """
    if device not in ("auto", "cpu", "cuda"):
        raise SettingError(f"unknown device {device!r}: set auto, cpu or cuda")
    if device == "cuda" and not torch.cuda.is_available():
        raise SettingError("device 'cuda' is set and torch sees no CUDA device: set 'cpu', or install a CUDA torch")
    return "cuda" if device != "cpu" and torch.cuda.is_available() else "cpu"


def require(needed: int, device: str, what: str) -> None:
    """Do nothing where `needed` bytes are free on the device.

    Raises:
        CollectionTooLarge: they are not; nothing was allocated.
    """
    free = free_bytes(device)
    if needed > free:
        raise CollectionTooLarge(
            f"{what} need {needed / 1e9:.2f} GB and {free / 1e9:.2f} GB is free on {device}: "
            "split the collection, or give the worker more memory"
        )


def free_bytes(device: str) -> int:
    """Return the bytes that this process may still allocate on `cpu` or `cuda`."""
    if device == "cuda":
        return torch.cuda.mem_get_info()[0]
    return min(_free_on_machine(), _free_in_container())


def _free_on_machine() -> int:
    if _MEMINFO.exists():
        fields = dict(line.split(":") for line in _MEMINFO.read_text().splitlines())
        return int(fields["MemAvailable"].split()[0]) * 1024
    # Without /proc there is no figure for what could be freed: the whole memory is the only safe upper bound.
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _free_in_container() -> int:
    """What the container's limit leaves, cached files counted as free; without bound where there is no limit."""
    try:
        limit = (_CGROUP / "memory.max").read_text().strip()
        used = int((_CGROUP / "memory.current").read_text())
        fields = dict(line.split() for line in (_CGROUP / "memory.stat").read_text().splitlines())
    except OSError:
        return _NO_LIMIT
    cached = int(fields["inactive_file"]) + int(fields["active_file"])
    return _NO_LIMIT if limit == "max" else int(limit) - used + cached
