"""What lies in a queue, read as a Celery worker reads it."""

from __future__ import annotations

import base64
import json
from typing import Any


def headers_of(message: str | bytes) -> dict[str, Any]:
    """The task's headers: what operators see."""
    headers: dict[str, Any] = json.loads(message)["headers"]
    return headers


def arguments_of(message: str | bytes) -> dict[str, Any]:
    """The keyword arguments that the task is called with."""
    arguments: dict[str, Any] = json.loads(base64.b64decode(json.loads(message)["body"]))[1]
    return arguments
