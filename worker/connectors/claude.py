"""Prompts in, drafts out, over Claude's API with its citations as structure; used only where a question says so."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import anthropic
import httpx2
from anthropic.types import (
    CitationsSearchResultLocation,
    Message,
    SearchResultBlockParam,
    TextBlock,
    TextBlockParam,
)

from worker.citations.sentences import split_sentences
from worker.connectors import Health
from worker.connectors.calls import Calls, read_within, retry_after, seconds_left
from worker.errors import (
    ConnectorError,
    DeadlineExceeded,
    ModelAnswerInvalid,
    ModelBusy,
    ModelRefused,
    ModelUnavailable,
    ModelUnreachable,
)
from worker.prompt import Prompt
from worker.records import Citation, Draft, Passage

_URL = "https://api.anthropic.com"
_CONNECT_SECONDS = 5.0
_HEALTH_SECONDS = 10.0
_IN_FLIGHT = 8
_CUT_OFF = ("max_tokens", "model_context_window_exceeded")

# At DEBUG the SDK logs whole requests, the question and the evidence among them.
logging.getLogger("anthropic").setLevel(logging.WARNING)


class ClaudeConnector:
    """One client, shared by all threads. The key is never logged and never part of an error or a repr."""

    def __init__(self, *, api_key: str, model: str, url: str = "", in_flight: int = _IN_FLIGHT) -> None:
        self._model = model
        # The address is the setting's alone, and the SDK's retries know no deadline: neither is left to the SDK.
        self._client = anthropic.Anthropic(api_key=api_key, base_url=url or _URL, max_retries=0, open_telemetry=False)
        self._calls = Calls(in_flight, retried=(ModelBusy, ModelUnavailable))

    def complete(self, prompt: Prompt, *, max_tokens: int, deadline: float) -> Draft:
        """Write a draft; raises as `Connector.complete` says."""
        return self._calls.run(lambda: self._ask(prompt, max_tokens, deadline), deadline=deadline)

    def health(self) -> Health:
        """Look the model up; no question and no document is sent."""
        deadline = time.time() + _HEALTH_SECONDS
        try:
            found = self._calls.run(lambda: self._look_up(deadline), deadline=deadline)
        except (ConnectorError, DeadlineExceeded) as error:
            return Health(reachable=False, model=self._model, problem=str(error))
        return Health(reachable=True, model=found.id, context=found.max_input_tokens)

    def close(self) -> None:
        """Give the connections back."""
        self._calls.close()
        self._client.close()

    def _ask(self, prompt: Prompt, max_tokens: int, deadline: float) -> Draft:
        texts = [_blocks(passage) for passage in prompt.passages]
        content: list[SearchResultBlockParam | TextBlockParam] = [*map(_evidence, prompt.passages, texts)]
        content.append({"type": "text", "text": prompt.asked})
        with (
            _translated(),
            self._client.messages.with_streaming_response.create(
                model=self._model,
                max_tokens=max_tokens,
                system=prompt.instructions,
                messages=[{"role": "user", "content": content}],
                timeout=_timeout(deadline),
            ) as response,
        ):
            body = read_within(response.iter_bytes(), deadline)
        return _draft(_message(body), prompt.passages)

    def _look_up(self, deadline: float) -> anthropic.types.ModelInfo:
        with _translated():
            return self._client.models.retrieve(self._model, timeout=_timeout(deadline))


def _timeout(deadline: float) -> anthropic.Timeout:
    left = seconds_left(deadline)
    return anthropic.Timeout(left, connect=min(left, _CONNECT_SECONDS))


def _blocks(passage: Passage) -> list[str]:
    """Cut a passage before each sentence: Claude cites whole blocks, and gives back their texts joined."""
    starts = [start for start, _ in split_sentences(passage.text)][1:]
    bounds = [0, *starts, len(passage.text)]
    return [passage.text[start:end] for start, end in pairwise(bounds)]


def _evidence(passage: Passage, blocks: list[str]) -> SearchResultBlockParam:
    return {
        "type": "search_result",
        "source": passage.name,
        "title": passage.name,
        "content": [{"type": "text", "text": block} for block in blocks],
        "citations": {"enabled": True},
    }


def _message(body: bytes) -> Message:
    """Read an answer as leniently as the SDK does: a field that is new must not break it."""
    try:
        return Message.model_construct(**json.loads(body))
    except (ValueError, TypeError, RecursionError):
        raise ModelAnswerInvalid("Claude's answer is no JSON object") from None


def _draft(message: Message, passages: tuple[Passage, ...]) -> Draft:
    try:
        blocks = [block for block in message.content if isinstance(block, TextBlock) and block.type == "text"]
        stop, usage = message.stop_reason, message.usage
        counts = {"prompt_tokens": usage.input_tokens, "completion_tokens": usage.output_tokens}
    except (AttributeError, TypeError):
        raise ModelAnswerInvalid("Claude's answer is no message") from None
    if stop == "refusal":
        raise ModelRefused("Claude declined to answer this question")
    cited = [
        citation
        for block in blocks
        for citation in block.citations or ()
        if isinstance(citation, CitationsSearchResultLocation)
    ]
    return Draft(
        text="".join(block.text for block in blocks),
        citations=tuple(_citation(citation, passages) for citation in cited),
        model=message.model,
        truncated=stop in _CUT_OFF,
        usage=counts,
    )


def _citation(citation: CitationsSearchResultLocation, passages: tuple[Passage, ...]) -> Citation:
    """Keep the structure's own name: whether it was shown is for the check to say, not for this room."""
    position = citation.search_result_index
    known = 0 <= position < len(passages)
    return Citation(name=citation.source, quote=citation.cited_text, passage=position if known else None)


@contextmanager
def _translated() -> Iterator[None]:
    """Translate the SDK's errors; its messages may repeat the request, so only their kind is passed on."""
    try:
        yield
    except (anthropic.APITimeoutError, httpx2.TimeoutException):
        raise DeadlineExceeded("Claude did not answer in time") from None
    except anthropic.APIConnectionError as error:
        raise ModelUnreachable(f"Claude's API cannot be reached: {type(error.__cause__).__name__}") from None
    except anthropic.APIStatusError as error:
        raise _status_error(error.status_code, error.response.headers.get("Retry-After")) from None
    except (anthropic.AnthropicError, httpx2.HTTPError) as error:
        raise ModelUnavailable(f"Claude's API failed: {type(error).__name__}") from None


def _status_error(status: int, asked: str | None) -> ConnectorError:
    said = f"Claude's API answered {status}"
    if status in (429, 503, 529):
        return ModelBusy(f"{said} (rate limit or overload); ask again later", retry_after=retry_after(asked))
    if status >= 500 or status == 408:
        return ModelUnavailable(f"{said}; ask again later")
    remedy = {
        401: "check RAG_CLAUDE_API_KEY",
        402: "check the billing of the account",
        403: "the key may not use this model",
        404: "check RAG_CLAUDE_MODEL and RAG_CLAUDE_URL",
        413: "lower RAG_EVIDENCE_TOKENS",
    }
    return ModelRefused(f"{said}; {remedy.get(status, 'check the key, the billing and RAG_CLAUDE_MODEL')}")
