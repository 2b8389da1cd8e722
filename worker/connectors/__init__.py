"""Prompts in, drafts out: the swap point between models. A connector is one method over plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from worker.prompt import Prompt
from worker.records import Draft


@dataclass(frozen=True, slots=True)
class Health:
    """Whether a model can be asked now, and what it is."""

    reachable: bool
    model: str = ""
    """The model's id, as its server names it."""
    context: int | None = None
    """Tokens of prompt and answer together; None where the server does not say."""
    constrained: bool = False
    """The server can hold a model to a JSON schema, so that it cannot write a source that was not shown."""
    problem: str = ""
    """Why it cannot be reached, and what to do."""

    def __str__(self) -> str:
        """One line for an operator."""
        if not self.reachable:
            return f"not reachable: {self.problem}"
        tokens = f"{self.context} tokens" if self.context else "context unknown"
        return f"{self.model or 'no model'}, {tokens}, constrained decoding {'yes' if self.constrained else 'no'}"


class Connector(Protocol):
    """A model, wherever it runs; safe to share among threads."""

    def complete(self, prompt: Prompt, *, max_tokens: int, deadline: float) -> Draft:
        """Write a draft of at most `max_tokens` tokens before `deadline` (Unix seconds).

        Raises ModelUnavailable, ModelBusy, ModelRefused, ModelAnswerInvalid or DeadlineExceeded.
        """
        ...

    def health(self) -> Health:
        """Ask after the model, within some seconds; never raises."""
        ...

    def close(self) -> None:
        """Give back what it holds; calls in flight are given up."""
        ...
