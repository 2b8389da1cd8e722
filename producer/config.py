"""Settings, read once from arguments or `RAG_*` environment variables, with all faults reported together.

A secret may also come from a file: where `NAME` is not set, `NAME_FILE` names the file (a Docker secret).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from producer.errors import ConfigurationError
from producer.grants import Grant

T = TypeVar("T")


def setting(
    variable: str,
    *,
    explain: str,
    default: Any = MISSING,
    parse: Callable[[str], Any] = str,
    secret: bool = False,
) -> Any:
    """Declare a dataclass field that `read` fills from the environment variable `variable`."""
    metadata = {"variable": variable, "explain": explain, "parse": parse, "secret": secret}
    return field(default=default, repr=not secret, metadata=metadata)


def read(cls: type[T], environment: Mapping[str, str] | None = None) -> T:
    """Build a dataclass of settings; raises ConfigurationError that names every fault at once."""
    environment = os.environ if environment is None else environment
    values: dict[str, Any] = {}
    faults: list[str] = []
    for item in fields(cls):  # type: ignore[arg-type]
        try:
            text = _text(environment, item.metadata)
            if text is not None:
                values[item.name] = item.metadata["parse"](text)
            elif item.default is MISSING:
                faults.append(f"{item.metadata['variable']} is not set ({item.metadata['explain']})")
        except (ValueError, OSError) as error:
            faults.append(f"{item.metadata['variable']}: {error}")
    if faults:
        raise ConfigurationError("; ".join(faults))
    return cls(**values)


def _text(environment: Mapping[str, str], metadata: Mapping[str, Any]) -> str | None:
    """Return the setting's text; an empty variable counts as not set, as Compose passes those on."""
    text = environment.get(metadata["variable"], "").strip()
    file = environment.get(metadata["variable"] + "_FILE", "").strip() if metadata["secret"] else ""
    if not text and file:
        text = Path(file).read_text(encoding="utf-8").strip()
    return text or None


def settings_table(*classes: type[Any]) -> str:
    """Return the rows of a Markdown table: variable, what it sets, default."""
    items = [item for cls in classes for item in fields(cls)]
    rows = (f"| `{item.metadata['variable']}` | {item.metadata['explain']} | {_default(item)} |" for item in items)
    return "\n".join(rows)


def _default(item: Field[Any]) -> str:
    if item.default is MISSING:
        return "**required**"
    if item.default in (None, "", ()):
        return "-"
    return f"`{item.default}`"


def redis_url(text: str) -> str:
    """Return a Redis URL that is one; raises ValueError without showing the password in it.

    With TLS the server's certificate is required, as Celery by itself would take any; `?ssl_ca_certs=/path` names an
    authority of your own.
    """
    if not text.startswith(("redis://", "rediss://")):
        raise ValueError("is no Redis URL; write redis://[:password@]host:port/number, or rediss:// for TLS")
    if text.startswith("rediss://") and "ssl_cert_reqs=" not in text:
        return f"{text}{'&' if '?' in text else '?'}ssl_cert_reqs=required"
    return text


def positive(text: str) -> float:
    """Return a number above zero; raises ValueError."""
    number = float(text)
    if not number > 0:
        raise ValueError(f"{text} is not above zero")
    return number


@dataclass(frozen=True, kw_only=True)
class ProducerConfig:
    """What an app must know to send: where Redis is, and how long a call may take when it is not there."""

    broker_url: str = setting(
        "RAG_BROKER_URL",
        explain="Redis, as `redis://:password@host:6379/0`",
        parse=redis_url,
        secret=True,
    )
    broker_timeout: float = setting(
        "RAG_BROKER_TIMEOUT",
        explain="seconds after which a call to Redis fails with BrokerUnavailable",
        default=2.0,
        parse=positive,
    )
    grant: Grant | None = setting(
        "RAG_GRANT",
        explain="what `python -m worker grant` printed for this app, where the workers take signed requests only",
        default=None,
        parse=Grant.of,
        secret=True,
    )
