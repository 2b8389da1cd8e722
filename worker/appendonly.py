"""A Redis whose disk was full in, its append-only file written anew out, before a restart finds the gap in it.

Once a running Redis has rewritten that file, it no longer opens it for appending (valkey 9.1; Redis 7 does so too).
A write that a full disk cut off is taken back, but the next one begins where the other had ended: between them stays
a gap of zeros, and no server starts from such a file. A rewrite by the server that still runs leaves the gap behind.

rag:rewritten    string  RUN:COUNT: the commands that this run of Redis had refused when its file was last made anew
rag:rewriting    string  there for a minute: a rewrite that fails, as for want of room, is not tried without a pause
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from worker.database import Database

MARK: Final = "rag:rewritten"
PAUSE: Final = "rag:rewriting"
_PAUSE_SECONDS: Final = 60


def rewrite_after_full_disk(database: Database) -> bool:
    """Start a rewrite where writes were refused since the last one and are taken again; say whether it was started.

    Raises StoreUnavailable, StoreError.
    """
    client = database.client
    with database.translated():
        told = client.info("server", "persistence", "errorstats")
        refused = f"{told['run_id']}:{_refused(told)}"
        if not _is_possible(told) or not (_has_failed(told) or client.get(MARK) != refused.encode()):
            return False
        if not client.set(PAUSE, refused, nx=True, ex=_PAUSE_SECONDS):
            return False
        client.bgrewriteaof()
        client.set(MARK, refused)
        return True


def _refused(told: Mapping[str, Any]) -> int:
    """How many commands Redis has refused because it could not write to its disk."""
    return int(told.get("errorstat_MISCONF", {}).get("count", 0))


def _is_possible(told: Mapping[str, Any]) -> bool:
    writes = told["aof_enabled"] and told["aof_last_write_status"] == "ok"
    return bool(_refused(told) and writes and not told["aof_rewrite_in_progress"])


def _has_failed(told: Mapping[str, Any]) -> bool:
    return bool(told["aof_last_bgrewrite_status"] != "ok")
