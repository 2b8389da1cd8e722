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
    try:
        return _value(_parsed(decode(data)), ())
    except (ValueError, RecursionError) as error:
        raise DocumentRefused("is damaged: the file is not JSON") from error


def read_jsonl(data: bytes, container: Container) -> Iterator[Block]:
    """Yield the records of a JSON Lines file, some lines a block."""
    records = list(_records(decode(data), container.losses))
    for start in range(0, len(records), _RECORDS_A_BLOCK):
        part = records[start : start + _RECORDS_A_BLOCK]
        text = "\n".join(_row(record) for _, record in part)
        yield Block(text, kind="table", location=f"lines {part[0][0]}-{part[-1][0]}")


def _records(text: str, losses: list[str]) -> Iterator[tuple[int, Any]]:
    """Yield (line, record); a line that is not JSON is a loss. Raises DocumentRefused where none is."""
    broken = []
    found = False
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            if line.strip():
                yield number, _parsed(line)
                found = True
        except (ValueError, RecursionError):
            broken.append(number)
    if broken and not found:
        raise DocumentRefused("is damaged: no line of it is JSON")
    if broken:
        losses.append(f"{len(broken)} lines are not JSON, the first is line {broken[0]}")


def _parsed(text: str) -> Any:
    """Return the value with its numbers as they are written. Raises ValueError, RecursionError."""
    return json.loads(text, parse_int=str, parse_float=str, parse_constant=str)


def _value(value: Any, heading: tuple[str, ...]) -> Iterator[Block]:
    if isinstance(value, dict) and len(heading) < _DEEPEST:
        plain = {key: inner for key, inner in value.items() if not _is_deep(inner)}
        yield Block(_row(plain), kind="table", heading=heading)
        for key, inner in value.items():
            if key not in plain:
                yield from _value(inner, (*heading, key))
    elif isinstance(value, list):
        for start in range(0, len(value), _RECORDS_A_BLOCK):
            part = value[start : start + _RECORDS_A_BLOCK]
            place = "" if heading else f"records {start + 1}-{start + len(part)}"
            yield Block("\n".join(map(_row, part)), kind="table", heading=heading, location=place)
    else:
        yield Block(_row(value), heading=heading)


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
        shown = str(value).lower() if isinstance(value, bool) else value
        text = "" if value is None else " ".join(str(shown).split())
    return f"{name}: {text}" if name and text else text
