"""One flag that a worker and the children it forked see: it was told to stop."""

from __future__ import annotations

import ctypes
from multiprocessing.sharedctypes import RawValue

# Memory without a lock: a child that is killed while it looks must not hold up its parent.
_told = RawValue(ctypes.c_bool, False)


def tell() -> None:
    """Tell this process and its children to stop."""
    _told.value = True


def is_told() -> bool:
    """Say whether this worker was told to stop."""
    return bool(_told.value)
