"""What a model was asked and what it wrote, one JSON line a draft, in a file; for developers, off by default.

This is the only place where a draft is written down. It never reaches Redis, a log or an app.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from worker.prompt import Prompt
from worker.records import Draft

_FILE = "drafts.jsonl"


def written(draft: Draft) -> str:
    """Return a draft as text, with what it named as structure on a line of sources."""
    names = ", ".join(dict.fromkeys(citation.name for citation in draft.citations))
    return f"{draft.text}\nSources: {names}" if names else draft.text


class Trace:
    """Appends to `drafts.jsonl` in a folder; the file is readable by its owner alone."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / _FILE

    def write(self, question_id: str, prompt: Prompt, draft: Draft) -> None:
        """Append one prompt and its draft."""
        line = json.dumps({"id": question_id, "messages": prompt.messages, "draft": written(draft)})
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(file, "a", encoding="utf-8") as stream:
            stream.write(line + "\n")


def read_drafts(folder: Path) -> dict[str, list[str]]:
    """Return what the models wrote, by question id; the drafts of one question in order."""
    path = folder / _FILE
    drafts: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        record = json.loads(line)
        drafts.setdefault(record["id"], []).append(record["draft"])
    return drafts
