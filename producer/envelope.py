"""A task in, the very text that a Celery worker takes out of a Redis list.

The text is Celery's message protocol 2 in kombu's envelope, as Celery itself would push it; a test compares the two
field by field. It is written here so that an app needs no Celery of ours beside its own, and so that receipt and
message can be stored in one step, which Celery's own sending cannot do.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import sys
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

# Operators see these in Flower and in logs instead of a client's words.
_SHOWN_ARGUMENTS = {"argsrepr": "()", "kwargsrepr": "{...}"}


def envelope(task: str, arguments: Mapping[str, Any], *, id: str, queue: str, expires: float | None = None) -> str:
    """Return the message that makes a worker of `queue` call `task(**arguments)`; `expires` is in Unix seconds."""
    body = [[], dict(arguments), {"callbacks": None, "errbacks": None, "chain": None, "chord": None}]
    return json.dumps(
        {
            "body": base64.b64encode(json.dumps(body).encode()).decode(),
            "content-encoding": "utf-8",
            "content-type": "application/json",
            "headers": _headers(task, id, expires),
            "properties": {
                "correlation_id": id,
                "reply_to": "",
                "delivery_mode": 2,
                "delivery_info": {"exchange": "", "routing_key": queue},
                "priority": 0,
                "body_encoding": "base64",
                "delivery_tag": str(uuid.uuid4()),
            },
        }
    )


def _headers(task: str, id: str, expires: float | None) -> dict[str, Any]:
    return {
        "lang": "py",
        "task": task,
        "id": id,
        "shadow": None,
        "eta": None,
        "expires": None if expires is None else datetime.fromtimestamp(expires, UTC).isoformat(),
        "group": None,
        "group_index": None,
        "retries": 0,
        "timelimit": [None, None],
        "root_id": id,
        "parent_id": None,
        **_SHOWN_ARGUMENTS,
        "origin": f"rag-producer{os.getpid()}@{socket.gethostname()}",
        "ignore_result": None,
        "replaced_task_nesting": 0,
        "stamped_headers": None,
        "stamps": {},
        **_trace(),
    }


def _trace() -> dict[str, str]:
    """Where the app uses OpenTelemetry, its current span: the worker's spans are then part of the same trace."""
    carrier: dict[str, str] = {}
    if "opentelemetry.trace" in sys.modules:
        from opentelemetry import propagate

        propagate.inject(carrier)
    return carrier
