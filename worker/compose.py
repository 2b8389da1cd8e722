"""docker-compose.yml in, the command of each service out: what runs without Docker is what runs in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from worker.errors import StackError

COMPOSE_FILE = Path(__file__).parent.parent / "docker-compose.yml"


def service_commands(path: Path = COMPOSE_FILE) -> dict[str, list[str]]:
    """Return each service's command as a list; raises StackError where the file or PyYAML is missing."""
    try:
        import yaml

        services: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))["services"]
    except ImportError as error:
        raise StackError("PyYAML is not installed; install rag-kit[embedded]") from error
    except OSError as error:
        raise StackError(f"{path} cannot be read; run from a checkout") from error
    return {name: [_unescaped(word) for word in service["command"]] for name, service in services.items()}


def _unescaped(word: str) -> str:
    """Compose writes a dollar sign that is meant for the shell as two."""
    return word.replace("$$", "$")
