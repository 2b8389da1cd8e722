"""A matrix of unit vectors on the device, and the exact best rows of it for a query."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from worker.devices import require
from worker.quantized import BLOCK, BlockCodes, int8_pays

Floats = npt.NDArray[np.float32]
Scores = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# Below this many rows a float32 product is as fast as two passes.
_TWO_PASS_ROWS: Final = 4096
# Queries of one pass: more would not fit in the cache beside the vectors.
_PASS_QUERIES: Final = 64
# Room grows by this factor, so that adding row after row copies each row a few times only.
_GROWTH: Final = 1.25
# Rows that are scored again at once: in a matrix of duplicates that is every row.
_RESCORED_ROWS: Final = 8192


class Matrix:
    """Rows 0..size of float32 unit vectors on a device; must not be changed while it is searched.

    On a CPU a first pass over int8 codes reads a quarter of the bytes and proves most rows to be out of the running
    (see `quantized`). A GPU reads the float32 rows faster than a question is embedded, so it goes without codes.
    Either way the rows that are left are scored in float64, so the answer does not depend on how they were found.

    Args:
        dimension: numbers a vector.
        device: `cpu` or `cuda`.
        room: rows to make room for at once.
        two_pass: whether to keep codes; None for where they pay.
    """

    def __init__(self, dimension: int, device: str, room: int = 0, *, two_pass: bool | None = None) -> None:
        self.size = 0
        self._device = device
        if two_pass is None:
            two_pass = self.has_codes(dimension, device)
        room += -room % BLOCK
        self._vectors = torch.zeros((room, dimension), dtype=torch.float32, device=device)
        self._codes = BlockCodes(room, dimension) if two_pass else None

    @staticmethod
    def has_codes(dimension: int, device: str) -> bool:
        """Say whether there is a first pass over codes, at one byte a number beside the four of the vectors."""
        return device == "cpu" and int8_pays(dimension)

    @staticmethod
    def bytes_for(rows: int, dimension: int, device: str) -> int:
        """Return what so many rows take on the device."""
        return rows * dimension * (5 if Matrix.has_codes(dimension, device) else 4)

    @property
    def room(self) -> int:
        """The number of rows that fit without growing."""
        return len(self._vectors)

    def resize(self, size: int) -> None:
        """Set the number of rows; new rows must be written before they are searched.

        Raises:
            CollectionTooLarge: the device has not that much memory.
        """
        if size > self.room:
            room = max(size, int(self.room * _GROWTH))
            self._grow(room + -room % BLOCK)
        self.size = size

    def write(self, places: Places, vectors: Floats) -> None:
        """Put `vectors` (n, d) into the rows `places` (n,)."""
        rows = self._tensor(places)
        self._vectors[rows] = self._tensor(vectors)
        self._encode(rows)

    def move(self, source: Places, target: Places) -> None:
        """Copy the rows `source` over the rows `target`."""
        rows = self._tensor(target)
        self._vectors[rows] = self._vectors[self._tensor(source)]
        self._encode(rows)

    def best(self, queries: Floats, k: int, allowed: Mask | None = None) -> list[tuple[Places, Scores]]:
        """Return for each query its k best rows, with every tie of the last one, in no order, and their cosines.

        Args:
            queries: (q, d) float32 unit vectors.
            k: the number of rows wanted, from 1.
            allowed: (size,) which rows may answer; None for all.
        """
        mask = None if allowed is None else self._tensor(allowed)
        found: list[tuple[Places, Scores]] = []
        for start in range(0, len(queries), _PASS_QUERIES):
            batch = queries[start : start + _PASS_QUERIES]
            query, row = self._finalists(self._tensor(batch), k, mask)
            scores = self.cosines(batch, query, row)
            ends = np.searchsorted(query, np.arange(len(batch) + 1))
            found += [_best(row[i:j], scores[i:j], k) for i, j in pairwise(ends.tolist())]
        return found

    def cosines(self, queries: Floats, query: Places, row: Places) -> Scores:
        """Return the cosine of each pair (query, row) in float64, summed in one fixed order whatever the device."""
        scores = np.empty(len(row))
        for start in range(0, len(row), _RESCORED_ROWS):
            part = slice(start, start + _RESCORED_ROWS)
            vectors = self._vectors[self._tensor(row[part])].cpu().numpy().astype(np.float64)
            scores[part] = (vectors * queries[query[part]]).sum(axis=1)
        return scores

    def _finalists(self, queries: Tensor, k: int, allowed: Tensor | None) -> tuple[Places, Places]:
        """Pairs (query, row) in order of the query; what float32 cannot tell from a query's k-th best stays in."""
        room = self.size if allowed is None else int(allowed.sum())
        if self._codes is not None and room >= max(_TWO_PASS_ROWS, k * BLOCK):
            query, row = self._codes.candidates(queries, k, self.size, allowed)
            scores = self._rescored(queries, query, row)
            leading = scores >= self._least(_by_query(query, scores, len(queries)), k)[query]
            query, row = query[leading], row[leading]
        else:
            rows = None if allowed is None else torch.nonzero(allowed).flatten()
            table = queries @ self._vectors[slice(self.size) if rows is None else rows].t()
            query, row = torch.nonzero(table >= self._least(table, k)[:, None], as_tuple=True)
            row = row if rows is None else rows[row]
        return query.cpu().numpy(), row.cpu().numpy()

    def _rescored(self, queries: Tensor, query: Tensor, row: Tensor) -> Tensor:
        """The float32 cosine of each pair."""
        parts = [slice(start, start + _RESCORED_ROWS) for start in range(0, len(row), _RESCORED_ROWS)]
        return torch.cat([(self._vectors[row[part]] * queries[query[part]]).sum(1) for part in parts])

    def _least(self, table: Tensor, k: int) -> Tensor:
        """(q,) the lowest float32 score that may belong to one of the k best rows of its line."""
        if table.shape[1] <= k:
            return torch.full((len(table),), -2.0, device=table.device)
        return table.topk(k, dim=1).values[:, -1] - 2 * _rounding(self._vectors.shape[1])

    def _encode(self, rows: Tensor) -> None:
        if self._codes is not None:
            self._codes.encode(self._vectors, torch.unique(rows // BLOCK))

    def _grow(self, room: int) -> None:
        dimension = self._vectors.shape[1]
        needed = self.bytes_for(room, dimension, self._device)
        require(needed, self._device, f"{room} vectors of {dimension} numbers")
        grown = torch.zeros((room, dimension), dtype=torch.float32, device=self._device)
        grown[: self.size] = self._vectors[: self.size]
        self._vectors = grown
        if self._codes is not None:
            self._codes.grow(room)

    def _tensor(self, array: npt.NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(array if array.flags.writeable else array.copy()).to(self._device)


def _by_query(query: Tensor, scores: Tensor, queries: int) -> Tensor:
    """Scores of pairs in order of the query, as a table with a line a query, filled up with -2."""
    counts = torch.bincount(query, minlength=queries)
    place = torch.arange(len(query)) - (counts.cumsum(0) - counts)[query]
    table = torch.full((queries, int(counts.max())), -2.0)
    table[query, place] = scores
    return table


def _best(rows: Places, scores: Scores, k: int) -> tuple[Places, Scores]:
    """The k best rows, with every tie of the last."""
    if len(rows) <= k:
        return rows, scores
    kept = scores >= np.partition(scores, -k)[-k]
    return rows[kept], scores[kept]


def _rounding(dimension: int) -> float:
    """A bound on the error of a float32 product of two unit vectors, in whatever order it was summed.

    Higham, Accuracy and Stability of Numerical Algorithms, section 3.1. Where torch was told to multiply in TF32 or
    bfloat16, the inputs' rounding comes on top.
    """
    inputs = 0.0 if torch.get_float32_matmul_precision() == "highest" else 2.0**-7
    return 1.01 * dimension * 2.0**-24 + inputs
