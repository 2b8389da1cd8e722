"""Prompts in, drafts out: the swap point between models. A connector is one method over plain values."""

from __future__ import annotations

from typing import Protocol

from worker.prompt import Prompt
from worker.records import Draft


class Connector(Protocol):
    """A model, wherever it runs."""

    def complete(self, prompt: Prompt, *, max_tokens: int, deadline: float) -> Draft:
        """Write a draft of at most `max_tokens` tokens before `deadline` (Unix seconds).

        Raises ModelUnavailable, ModelBusy, ModelRefused, ModelAnswerInvalid or DeadlineExceeded.
        """
        ...
