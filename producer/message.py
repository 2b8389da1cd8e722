"""The base of all messages: frozen values, JSON objects, one schema number; and what both halves refuse.

Reading is lenient where versions may differ: unknown fields are ignored, missing ones take their defaults.
What has no default must be there.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from dataclasses import MISSING, asdict, field, fields
from typing import Any, Self

from producer.errors import ContractError, InvalidRequest

SCHEMA_VERSION = 1

_COLLECTION = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
_MAX_NAME = 512


def new_id() -> str:
    """Return a fresh task id."""
    return str(uuid.uuid4())


class Message:
    """To and from JSON objects, for the dataclasses below."""

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON object that `from_dict` of this or a later version reads."""
        return {"schema": SCHEMA_VERSION, **asdict(self)}  # type: ignore[call-overload]

    @classmethod
    def from_dict(cls, payload: object) -> Self:
        """Read a JSON object; raises ContractError where it does not fit."""
        if not isinstance(payload, Mapping):
            raise ContractError(f"{cls.__name__}: expected an object, got {type(payload).__name__}", payload)
        known = {f.name: f for f in fields(cls)}  # type: ignore[arg-type]
        missing = [
            name
            for name, f in known.items()
            if name not in payload and f.default is MISSING and f.default_factory is MISSING
        ]
        if missing:
            raise ContractError(f"{cls.__name__}: missing {', '.join(missing)}", payload)
        values = {name: _read(f.metadata, payload[name]) for name, f in known.items() if name in payload}
        try:
            return cls(**values)
        except (TypeError, AttributeError) as error:
            raise ContractError(f"{cls.__name__}: a field has the wrong type", payload) from error


def _read(metadata: Mapping[str, Any], value: Any) -> Any:
    """Turn JSON lists back into tuples, and objects into the message that the field is made of."""
    part = metadata.get("of")
    if isinstance(value, list | tuple):
        return tuple(part.from_dict(item) for item in value) if part else tuple(value)
    if part is not None and value is not None:
        return part.from_dict(value)
    return value


def many(part: type[Message]) -> Any:
    """Return a field that holds a tuple of messages."""
    return field(default=(), metadata={"of": part})


def require_collection(name: str) -> str:
    """Return `name`, or raise InvalidRequest: collections become key names and must stay apart."""
    if not isinstance(name, str) or not _COLLECTION.fullmatch(name):
        raise InvalidRequest(
            f"collection {name!r} is no valid name; use 1 to 64 of a-z, 0-9, _ and -, first a letter or digit"
        )
    return name


def require_id(id: str) -> str:
    """Return `id`, or raise InvalidRequest: ids become key names and are printed in logs."""
    if not isinstance(id, str) or not _ID.fullmatch(id):
        raise InvalidRequest(f"id {id!r} is no valid id; use 1 to 128 of A-Z, a-z, 0-9, . _ : and -")
    return id


def require_document_name(name: str) -> str:
    """Return `name`, or raise InvalidRequest: names are printed, so nothing in them may break or reorder a line."""
    if not isinstance(name, str) or not name.strip() or len(name) > _MAX_NAME or not name.isprintable():
        raise InvalidRequest(
            f"document name {name!r} is no valid name; use 1 to {_MAX_NAME} printable characters, "
            "such as policies/auto.pdf"
        )
    return name


def require_choice(argument: str, value: str, choices: tuple[str, ...]) -> None:
    """Raise InvalidRequest where `value` is none of `choices`."""
    if value not in choices:
        raise InvalidRequest(f"{argument} is {value!r}; choose one of {', '.join(choices)}")
