"""A model server's address in, what it serves out: model, context, its count of tokens, constrained decoding."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from worker.connectors.wire import Wire
from worker.errors import ConnectorError, ModelBusy, ModelUnavailable, ModelUnreachable

Json = Mapping[str, Any]

# Byte-level vocabularies have about four bytes of English prose in a token, and two of figures and tables.
_BYTES_A_TOKEN = 2
_PROBE_TOKENS = 40
_PROBE_WORD = "aubergine"


@dataclass(frozen=True, slots=True)
class Model:
    """A model as its server lists it."""

    id: str
    context: int | None
    """Tokens of prompt and answer together; None where the server does not say."""


class Served:
    """Asks an OpenAI-compatible server about itself, each thing once; safe to share among threads.

    `model` empty means the first one that the server lists.
    """

    def __init__(self, wire: Wire, url: str, *, model: str) -> None:
        self._wire = wire
        self._url = url
        self._root = url.removesuffix("/v1")
        self._wanted = model
        self.forget()

    def forget(self) -> None:
        """Ask everything anew: another model is served now."""
        self._model: Model | None = None
        self._counts: bool | None = None
        self._constrains: bool | None = None

    def model(self, deadline: float) -> Model:
        """Return the model that is asked; raises as `Wire.get` does."""
        return self._model or self.look_again(deadline)

    def look_again(self, deadline: float) -> Model:
        """Return the model that is served now; where it is another one, everything else is asked anew as well."""
        found = self._find_model(deadline)
        if found != self._model:
            self.forget()
        self._model = found
        return found

    def count_tokens(self, text: str, deadline: float) -> int:
        """Count a text's tokens by the server's own tokenizer, where it offers one, else estimate with care."""
        count = None
        if self._counts is not False:
            # llama.cpp reads `content`, vLLM and SGLang read `prompt`.
            asked = {"model": self.model(deadline).id, "content": text, "prompt": text}
            count = _token_count(self._ask(f"{self._root}/tokenize", asked, deadline))
            self._counts = count is not None
        return len(text.encode("utf-8", "replace")) // _BYTES_A_TOKEN if count is None else count

    def constrains(self, deadline: float) -> bool:
        """Whether the server holds a model to a JSON schema; it is asked for a word that nobody says unasked."""
        if self._constrains is None:
            asked = {
                "model": self.model(deadline).id,
                "messages": [{"role": "user", "content": "Say hello."}],
                "max_tokens": _PROBE_TOKENS,
                "temperature": 0,
                "response_format": json_schema({"word": {"type": "string", "enum": [_PROBE_WORD]}}),
            }
            self._constrains = _obeyed(self._ask(f"{self._url}/chat/completions", asked, deadline))
        return self._constrains

    def _find_model(self, deadline: float) -> Model:
        listed = self._wire.get(f"{self._url}/models", deadline=deadline).get("data")
        models = {str(item.get("id")): item for item in listed or () if isinstance(item, Mapping)}
        name = self._wanted or next(iter(models), "")
        if not name:
            raise ModelUnavailable(f"the model server at {self._url} lists no model; set RAG_LOCAL_MODEL")
        context = _context(models.get(name, {}))
        return Model(name, context or _slot_context(self._ask(f"{self._root}/props", None, deadline)))

    def _ask(self, url: str, body: Json | None, deadline: float) -> Json:
        """Ask for what only some servers have; {} where this one has it not."""
        try:
            return self._wire.post(url, body, deadline=deadline) if body else self._wire.get(url, deadline=deadline)
        except (ModelBusy, ModelUnreachable):
            raise
        except ConnectorError:
            return {}


def json_schema(properties: Json) -> Json:
    """Return the `response_format` that asks for an object of exactly these properties, in this order."""
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}


def _context(listed: Json) -> int | None:
    """vLLM and SGLang list `max_model_len`, llama.cpp `meta.n_ctx` (of one slot)."""
    meta = listed.get("meta")
    return _number(listed.get("max_model_len")) or _number(meta.get("n_ctx") if isinstance(meta, Mapping) else None)


def _slot_context(props: Json) -> int | None:
    """An older llama.cpp says it in `/props`."""
    settings = props.get("default_generation_settings")
    return _number(settings.get("n_ctx")) if isinstance(settings, Mapping) else None


def _token_count(answer: Json) -> int | None:
    tokens = answer.get("tokens")
    return _number(answer.get("count")) or (len(tokens) if isinstance(tokens, list) else None)


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and value > 0 else None


def _obeyed(answer: Json) -> bool:
    try:
        return bool(json.loads(answer["choices"][0]["message"]["content"]) == {"word": _PROBE_WORD})
    except (LookupError, TypeError, ValueError):
        return False
