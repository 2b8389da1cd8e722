"""Prompts in, drafts out, over any OpenAI-compatible server: vLLM, llama.cpp, Ollama, NIM, SGLang."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import json_repair

from worker.connectors import Health
from worker.connectors.calls import Calls
from worker.connectors.served import Served, json_schema
from worker.connectors.wire import Wire
from worker.errors import (
    ConnectorError,
    DeadlineExceeded,
    ModelAnswerInvalid,
    ModelBusy,
    ModelRefused,
    ModelUnreachable,
)
from worker.prompt import Prompt
from worker.records import Citation, Draft

_HEALTH_SECONDS = 15.0
# What Ollama takes where nobody sets it; it cuts a longer prompt without a word.
_USUAL_CONTEXT = 4096
# What a chat template writes around a message.
_TEMPLATE_TOKENS = 16


class LocalConnector:
    """One HTTP client, shared by all threads, with at most `in_flight` calls at once.

    `model` empty means the first one that the server lists. `constrained` holds the model to a JSON schema whose
    sources are the names shown, where the server can do that. `context` is in tokens; None asks the server.
    """

    def __init__(
        self,
        url: str,
        *,
        model: str = "",
        api_key: str = "",
        constrained: bool = False,
        context: int | None = None,
        in_flight: int = 8,
    ) -> None:
        self._url = url
        self._constrained = constrained
        self._context = context
        # One connection more than calls: asking after the model's health must not wait for its answers.
        self._wire = Wire(api_key=api_key, connections=in_flight + 1)
        self._served = Served(self._wire, url, model=model)
        self._calls = Calls(in_flight, retried=(ModelBusy, ModelUnreachable))

    def complete(self, prompt: Prompt, *, max_tokens: int, deadline: float) -> Draft:
        """Write a draft; raises as `Connector.complete` says.

        Passages that the model's context has no room for are left out, the last ones first; `Draft.shown` says how
        many were shown.
        """
        return self._calls.run(lambda: self._ask(prompt, max_tokens, deadline), deadline=deadline)

    def health(self) -> Health:
        """Ask the server what it serves and what it can."""
        deadline = time.time() + _HEALTH_SECONDS
        try:
            model = self._served.look_again(deadline)
            constrained = self._served.constrains(deadline)
        except (ConnectorError, DeadlineExceeded) as error:
            return Health(reachable=False, problem=str(error))
        return Health(True, model.id, self._context or model.context, constrained)

    def close(self) -> None:
        """Give the connections back."""
        self._calls.close()
        self._wire.close()

    def _ask(self, prompt: Prompt, max_tokens: int, deadline: float) -> Draft:
        prompt = self._fitted(prompt, max_tokens, deadline)
        constrained = self._constrained and self._served.constrains(deadline)
        request = {
            "model": self._served.model(deadline).id,
            "max_tokens": max_tokens,
            # The same question over the same evidence should get the same answer.
            "temperature": 0,
            **(_in_json(prompt) if constrained else _in_words(prompt)),
        }
        try:
            answer = self._wire.post(f"{self._url}/chat/completions", request, deadline=deadline)
        except ModelRefused:
            # Another model may be served under this address by now.
            self._served.forget()
            raise
        draft = _draft(answer, str(request["model"]), shown=len(prompt.passages))
        return _out_of_json(draft) if constrained else draft

    def _fitted(self, prompt: Prompt, max_tokens: int, deadline: float) -> Prompt:
        """Leave out whole passages, the least relevant first, until the prompt and its answer have room."""
        context = self._context or self._served.model(deadline).context or _USUAL_CONTEXT
        for shown in range(len(prompt.passages), 0, -1):
            fitted = replace(prompt, passages=prompt.passages[:shown])
            if self._has_room(fitted, context - max_tokens, deadline):
                return fitted
        raise ModelRefused(
            f"the model's context of {context} tokens has no room for one passage and {max_tokens} tokens of answer; "
            "lower RAG_ANSWER_TOKENS, or serve the model with more context"
        )

    def _has_room(self, prompt: Prompt, room: int, deadline: float) -> bool:
        texts = [message["content"] for message in prompt.messages]
        room -= _TEMPLATE_TOKENS * len(texts)
        text = "\n".join(texts)
        # No vocabulary has more tokens in a text than the text has bytes: most prompts need no counting.
        return len(text.encode("utf-8", "replace")) <= room or self._served.count_tokens(text, deadline) <= room


def _in_words(prompt: Prompt) -> dict[str, Any]:
    return {"messages": prompt.messages, "stop": prompt.stop}


def _in_json(prompt: Prompt) -> dict[str, Any]:
    return {"messages": prompt.json_messages, "response_format": json_schema(prompt.json_properties)}


def _draft(answer: Mapping[str, Any], model: str, *, shown: int) -> Draft:
    """Read a chat completion; what a reasoning model thought (`reasoning_content`) is no part of its answer."""
    try:
        choice = answer["choices"][0]
        text = choice["message"]["content"] or ""
        truncated = choice.get("finish_reason") == "length"
    except (LookupError, TypeError, AttributeError) as error:
        raise ModelAnswerInvalid("the model server's answer is no chat completion") from error
    if not isinstance(text, str):
        raise ModelAnswerInvalid("the model server's answer is no text")
    model = str(answer.get("model") or model)
    return Draft(text=text, model=model, truncated=truncated, usage=_usage(answer), shown=shown)


def _usage(answer: Mapping[str, Any]) -> dict[str, int]:
    usage = answer.get("usage")
    counts = usage if isinstance(usage, Mapping) else {}
    return {key: counts[key] for key in ("prompt_tokens", "completion_tokens") if isinstance(counts.get(key), int)}


def _out_of_json(draft: Draft) -> Draft:
    """Take answer and sources out of the object; one that was cut off at the token limit is mended first."""
    fields = json_repair.loads(draft.text)
    if not isinstance(fields, dict) or not isinstance(fields.get("answer"), str):
        return draft
    names = fields.get("sources")
    cited = tuple(Citation(name=str(name)) for name in names) if isinstance(names, list) else ()
    return replace(draft, text=fields["answer"], citations=cited)
