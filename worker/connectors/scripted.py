"""Prompts in, queued drafts out: a model for tests, the app's own included."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from worker.connectors import Health
from worker.errors import ModelUnavailable
from worker.prompt import Prompt
from worker.records import Draft


class ScriptedConnector:
    """Answers with the drafts it was given, in order; `prompts` holds what it was asked."""

    def __init__(self, drafts: Iterable[Draft | str] = ()) -> None:
        self._drafts = deque(draft if isinstance(draft, Draft) else Draft(text=draft) for draft in drafts)
        self.prompts: list[Prompt] = []

    def add(self, draft: Draft | str) -> None:
        """Queue one more draft."""
        self._drafts.append(draft if isinstance(draft, Draft) else Draft(text=draft))

    def complete(self, prompt: Prompt, *, max_tokens: int, deadline: float) -> Draft:
        """Return the next draft; raises ModelUnavailable where none is left."""
        self.prompts.append(prompt)
        if not self._drafts:
            raise ModelUnavailable("the script has no draft left; queue one for each question")
        return self._drafts.popleft()

    def health(self) -> Health:
        """Say that the script is there."""
        return Health(reachable=True, model="scripted")

    def close(self) -> None:
        """Hold nothing."""
