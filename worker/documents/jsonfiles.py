"""JSON and JSON Lines become blocks: an object is a row of `key: value`, a key that holds more is a heading."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from worker.documents.blocks import Block
from worker.documents.encoding import decode
from worker.documents.nesting import Container
from worker.errors import DocumentRefused

_RECORDS_A_BLOCK = 20
_DEEPEST = 8


def read_json(data: bytes, container: Container) -> Iterator[Block]:
    """Yield the values of a JSON document."""
    return _value(_parsed(decode(data), "the file"), level=1)


def read_jsonl(data: bytes, container: Container) -> Iterator[Block]:
    """Yield the records of a JSON Lines file, some lines a block."""
    lines = [(number, line) for number, line in enumerate(decode(data).splitlines(), start=1) if line.strip()]
    for start in range(0, len(lines), _RECORDS_A_BLOCK):
        part = lines[start : start + _RECORDS_A_BLOCK]
        text = "\n".join(_row(_parsed(line, f"line {number}")) for number, line in part)
        yield Block(text, kind="table", location=f"lines {part[0][0]}-{part[-1][0]}")


def _parsed(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DocumentRefused(f"is damaged: {place} is not JSON") from error


def _value(value: Any, level: int) -> Iterator[Block]:
    if isinstance(value, dict) and level <= _DEEPEST:
        plain = {key: inner for key, inner in value.items() if not _is_deep(inner)}
        yield Block(_row(plain), kind="table")
        for key, inner in value.items():
            if key not in plain:
                yield Block(key, level=level)
                yield from _value(inner, level + 1)
    elif isinstance(value, list):
        for start in range(0, len(value), _RECORDS_A_BLOCK):
            part = value[start : start + _RECORDS_A_BLOCK]
            place = f"records {start + 1}-{start + len(part)}" if level == 1 else ""
            yield Block("\n".join(map(_row, part)), kind="table", location=place)
    else:
        yield Block(_row(value))


def _is_deep(value: Any) -> bool:
    if isinstance(value, dict):
        return bool(value)
    return isinstance(value, list) and any(isinstance(member, (dict, list)) for member in value)


def _row(value: Any, name: str = "") -> str:
    """Return a record on one line, nested keys joined by dots."""
    if isinstance(value, dict):
        return " | ".join(filter(None, (_row(inner, f"{name}.{key}".strip(".")) for key, inner in value.items())))
    if isinstance(value, list):
        text = ", ".join(_row(member) for member in value)
    else:
        text = "" if value is None else " ".join(str(value).split())
    return f"{name}: {text}" if name and text else text
