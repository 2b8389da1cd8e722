"""Prompts in, drafts out, over any OpenAI-compatible server: vLLM, llama.cpp, Ollama, NIM."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx

from worker.errors import DeadlineExceeded, ModelAnswerInvalid, ModelBusy, ModelRefused, ModelUnavailable
from worker.prompt import Prompt
from worker.records import Draft

_CONNECT_SECONDS = 3.0
_CONNECT_RETRIES = 2
_LARGEST_ANSWER_BYTES = 4_000_000


class LocalConnector:
    """One HTTP client, shared by all threads.

    `model` empty means the first one that the server lists; it is asked for once.
    """

    def __init__(self, url: str, *, model: str = "", api_key: str = "") -> None:
        self._url = url
        self._model = model
        self._client = httpx.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {api_key}"} if api_key else {},
            transport=httpx.HTTPTransport(retries=_CONNECT_RETRIES),
        )

    def complete(self, prompt: Prompt, *, max_tokens: int, deadline: float) -> Draft:
        """Write a draft; raises as `Connector.complete` says."""
        request = {
            "model": self._served_model(deadline),
            "messages": prompt.messages,
            "max_tokens": max_tokens,
            "stop": prompt.stop,
            # The same question over the same evidence should get the same answer.
            "temperature": 0,
        }
        answer = self._call("POST", "/chat/completions", deadline, json=request)
        return _draft(answer, str(request["model"]))

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()

    def _served_model(self, deadline: float) -> str:
        if not self._model:
            listed = self._call("GET", "/models", deadline).get("data") or []
            if not listed:
                raise ModelUnavailable(f"the model server at {self._url} lists no model")
            self._model = str(listed[0]["id"])
        return self._model

    def _call(self, method: str, path: str, deadline: float, *, json: object = None) -> Mapping[str, Any]:
        left = deadline - time.time()
        if left <= 0:
            raise DeadlineExceeded("no time was left to ask the model")
        timeout = httpx.Timeout(left, connect=min(left, _CONNECT_SECONDS))
        with self._translated(), self._client.stream(method, path, json=json, timeout=timeout) as response:
            body = _read(response, deadline)
            self._require_success(response)
        return _json(body)

    def _require_success(self, response: httpx.Response) -> None:
        status = response.status_code
        if status in (429, 503):
            raise ModelBusy(f"the model server at {self._url} answered {status}; ask again later")
        if status >= 500:
            raise ModelUnavailable(f"the model server at {self._url} answered {status}; see its log")
        if status >= 400:
            raise ModelRefused(f"the model server at {self._url} answered {status}; check RAG_LOCAL_MODEL and key")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except httpx.HTTPError as error:
            kind = type(error).__name__
            raise ModelUnavailable(f"no answer from the model server at {self._url}: {kind}") from error


def _read(response: httpx.Response, deadline: float) -> bytes:
    """Read the body within its limits; a server that drips one byte at a time must not hold a thread."""
    body = b""
    for part in response.iter_bytes():
        body += part
        if len(body) > _LARGEST_ANSWER_BYTES:
            raise ModelAnswerInvalid(f"the model server sent more than {_LARGEST_ANSWER_BYTES} bytes")
        if time.time() > deadline:
            raise DeadlineExceeded("the model did not finish in time")
    return body


def _json(body: bytes) -> Mapping[str, Any]:
    try:
        answer = httpx.Response(200, content=body).json()
    except ValueError as error:
        raise ModelAnswerInvalid("the model server's answer is no JSON") from error
    if not isinstance(answer, Mapping):
        raise ModelAnswerInvalid("the model server's answer is no JSON object")
    return answer


def _draft(answer: Mapping[str, Any], model: str) -> Draft:
    try:
        choice = answer["choices"][0]
        text = choice["message"]["content"] or ""
        truncated = choice.get("finish_reason") == "length"
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ModelAnswerInvalid("the model server's answer is no chat completion") from error
    usage = answer.get("usage") or {}
    counts = {key: usage[key] for key in ("prompt_tokens", "completion_tokens") if isinstance(usage.get(key), int)}
    return Draft(text=str(text), model=str(answer.get("model") or model), truncated=truncated, usage=counts)
