"""An answer that came as a JSON object is taken out of it, with the sources that the object names."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import json_repair

_ANSWER_KEYS = (
    "answer",
    "final_answer",
    "response",
    "text",
    "content",
    "output",
    "result",
    "message",
    "sentences",
    "claims",
)
_SOURCE_KEYS = (
    "sources", "source", "citations", "citation", "references", "reference", "documents", "docs", "files",
    "source_documents", "cited_documents", "cited", "evidence", "used_sources", "sources_used", "cited_sources",
    "source_files", "source_names", "source_ids", "citation_ids", "supporting_documents",
)  # fmt: skip
_NAME_KEYS = (
    "name",
    "document",
    "source",
    "file",
    "filename",
    "file_name",
    "document_name",
    "title",
    "doc",
    "id",
    "index",
    "number",
)
_WRAPPER_KEYS = ("arguments", "parameters", "input", "function", "final", "data")
# A brace at the end of a text and the sources line below it are no object.
_OBJECT = re.compile(
    r"(?:\[\s*)?\{[ \t\r]*\n?[ \t]*[\"']?(?:"
    + "|".join((*_ANSWER_KEYS, *_SOURCE_KEYS, *_WRAPPER_KEYS, "name"))
    + r")[\"']?\s*:",
    re.I,
)
_FENCE = re.compile(r"```[\w-]*\s*|```")
# More words than this before the object are an answer that happens to show JSON.
_CHATTER = 120
_DEPTH = 4


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """The answer out of an object and every source it names, as the object wrote it."""

    text: str
    offered: tuple[str | int, ...]
    """Numbers are positions of documents; strings are lists of names."""
    truncated: bool
    """The object was cut off before its end."""
    listed: bool
    """The object has a place for sources, filled or not."""


def unwrap(text: str) -> Unwrapped | None:
    """Read a JSON object, repaired where a model broke it; None where the text is no such object."""
    start = _OBJECT.search(text)
    if start is None or len(_FENCE.sub("", text[: start.start()]).strip()) > _CHATTER:
        return None
    value, rest, truncated = _load(text[start.start() :])
    fields = _fields(value)
    if fields is None:
        return None
    answer = _answer(fields)
    if answer is None:
        return None
    parts = [fields, *(item for key in _ANSWER_KEYS for item in _parts(fields.get(key)))]
    offered = [item for part in parts for key in _SOURCE_KEYS if key in part for item in _offered(part[key])]
    rest = _FENCE.sub("", rest).strip()
    whole = f"{answer}\n\n{rest}" if rest else answer
    return Unwrapped(whole, tuple(offered), truncated, any(key in fields for key in _SOURCE_KEYS))


def _load(text: str) -> tuple[Any, str, bool]:
    """The object, the text behind it, and whether the object was cut off."""
    try:
        value, end = json.JSONDecoder().raw_decode(text)
        return value, text[end:], False
    except (ValueError, RecursionError):
        pass
    try:
        return json_repair.loads(_FENCE.sub("", text)), "", text.count("{") > text.count("}")
    except (ValueError, RecursionError):
        return None, "", False


def _fields(value: Any, depth: int = 0) -> dict[str, Any] | None:
    """The object's fields by lower-case key, out of a list or a tool call's arguments."""
    if isinstance(value, str) and depth:
        value = _load(value)[0]
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, dict) or depth > _DEPTH:
        return None
    fields = {str(key).lower(): item for key, item in value.items()}
    for key in (*_WRAPPER_KEYS, *_ANSWER_KEYS):
        wraps = isinstance(fields.get(key), dict) or (
            key in _WRAPPER_KEYS and not any(name in fields for name in _ANSWER_KEYS)
        )
        if key in fields and wraps:
            return _fields(fields[key], depth + 1)
    return fields


def _answer(fields: dict[str, Any]) -> str | None:
    for key in _ANSWER_KEYS:
        value = fields.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            return " ".join(str(_first(item, ("text", "sentence", "claim", "answer"))) for item in value)
    return "" if any(key in fields for key in _SOURCE_KEYS) else None


def _parts(value: Any) -> list[dict[str, Any]]:
    """The sentences of an answer that came as a list, each with sources of its own."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _offered(value: Any, depth: int = 0) -> list[str | int]:
    if isinstance(value, dict):
        value = _first(value, _NAME_KEYS) or list(value)
    if isinstance(value, list) and depth < _DEPTH:
        return [found for item in value for found in _offered(item, depth + 1)]
    if isinstance(value, bool) or value is None:
        return []
    return [value] if isinstance(value, int) else [str(value)] if str(value).strip() else []


def _first(value: Any, keys: tuple[str, ...]) -> Any:
    if not isinstance(value, dict):
        return value
    return next((value[key] for key in keys if value.get(key) not in (None, "")), "")
