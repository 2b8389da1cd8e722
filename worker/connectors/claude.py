"""Prompts in, drafts out, over Claude's API with its citations as structure; used only where a question says so."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import anthropic
from anthropic.types import (
    CitationsSearchResultLocation,
    Message,
    SearchResultBlockParam,
    TextBlock,
    TextBlockParam,
)

from worker.errors import DeadlineExceeded, ModelBusy, ModelRefused, ModelUnavailable
from worker.prompt import Prompt
from worker.records import Citation, Draft, Passage

_RETRIES = 2


class ClaudeConnector:
    """One client, shared by all threads. The key is never logged and never part of an error."""

    def __init__(self, *, api_key: str, model: str, url: str = "") -> None:
        self._model = model
        self._client = anthropic.Anthropic(api_key=api_key, base_url=url or None, max_retries=_RETRIES)

    def complete(self, prompt: Prompt, *, max_tokens: int, deadline: float) -> Draft:
        """Write a draft; raises as `Connector.complete` says."""
        left = deadline - time.time()
        if left <= 0:
            raise DeadlineExceeded("no time was left to ask the model")
        content: list[SearchResultBlockParam | TextBlockParam] = [*map(_evidence, prompt.passages)]
        content.append({"type": "text", "text": prompt.question})
        with _translated():
            message = self._client.messages.create(
                model=self._model,
                max_tokens=max_tokens,
                system=prompt.instructions,
                messages=[{"role": "user", "content": content}],
                # The SDK retries within its own count; each try gets its share of the time that is left.
                timeout=left / (_RETRIES + 1),
            )
        return _draft(message, prompt.passages)

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()


def _evidence(passage: Passage) -> SearchResultBlockParam:
    return {
        "type": "search_result",
        "source": passage.name,
        "title": passage.name,
        "content": [{"type": "text", "text": passage.text}],
        "citations": {"enabled": True},
    }


def _draft(message: Message, passages: tuple[Passage, ...]) -> Draft:
    blocks = [block for block in message.content if isinstance(block, TextBlock)]
    if message.stop_reason == "refusal":
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
        truncated=message.stop_reason == "max_tokens",
        usage={
            "prompt_tokens": message.usage.input_tokens,
            "completion_tokens": message.usage.output_tokens,
        },
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
    except anthropic.APIConnectionError as error:
        raise ModelUnavailable(f"Claude's API cannot be reached: {type(error).__name__}") from None
    except anthropic.APIStatusError as error:
        raise _status_error(error.status_code) from None
    except anthropic.AnthropicError as error:
        raise ModelUnavailable(f"Claude's API failed: {type(error).__name__}") from None


def _status_error(status: int) -> Exception:
    if status in (429, 529):
        return ModelBusy(f"Claude's API answered {status} (rate limit or overload); ask again later")
    if status >= 500 or status == 408:
        return ModelUnavailable(f"Claude's API answered {status}; ask again later")
    return ModelRefused(f"Claude's API answered {status}; check the key, the billing and RAG_CLAUDE_MODEL")
