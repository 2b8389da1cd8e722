"""Int8 codes of unit vectors, and which rows they prove to be out of the running for a query.

Rows are coded in blocks of 32, x = s xi + e with one scale s a block and |e| <= r; a query likewise, q = t qi + f.
By Cauchy and Schwarz |q.x - s t (qi.xi)| <= t |qi| r + |f| |x|, and the integer product is exact. So every block has
a row whose cosine is at least the block's largest estimate less that bound; the true k-th best row reaches the k-th
best of these floors; and a row whose estimate plus bound lies below it cannot be among the k best.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Final

import torch
from torch import Tensor

BLOCK: Final = 32
# Rows of one product: their estimates are still in the cache when they are looked at.
_SEGMENT: Final = 1 << 15
# Blocks that are coded at once: a few copies of them must not matter beside the matrix.
_ENCODED_BLOCKS: Final = 256
_LARGEST_CODE: Final = 127
_NO_ROW: Final = -(1 << 30)
# Cover the rounding of the few float32 operations on estimates and bounds, none of which is above 2 in size.
_SLACK: Final = 4e-6
_RELATIVE_SLACK: Final = 1e-3


class BlockCodes:
    """Codes of the rows of a float32 matrix; a quarter of its bytes.

    Args:
        room: the number of rows, a multiple of BLOCK.
        dimension: numbers a row.
    """

    def __init__(self, room: int, dimension: int) -> None:
        self._codes = torch.zeros((room, dimension), dtype=torch.int8)
        self._scales = torch.zeros(room // BLOCK)
        self._errors = torch.zeros(room // BLOCK)

    def grow(self, room: int) -> None:
        """Make room for more rows, keeping the codes."""
        self._codes = _grown(self._codes, room)
        self._scales = _grown(self._scales, room // BLOCK)
        self._errors = _grown(self._errors, room // BLOCK)

    def encode(self, vectors: Tensor, blocks: Tensor) -> None:
        """Code the given blocks anew from `vectors` (room, d)."""
        for start in range(0, len(blocks), _ENCODED_BLOCKS):
            self._encode(vectors, blocks[start : start + _ENCODED_BLOCKS])

    def _encode(self, vectors: Tensor, blocks: Tensor) -> None:
        dimension = vectors.shape[1]
        rows = vectors.view(-1, BLOCK, dimension)[blocks]
        scales = _scale(rows.flatten(1))
        codes, errors = _quantize(rows, scales[:, None, None])
        self._codes.view(-1, BLOCK, dimension)[blocks] = codes
        self._scales[blocks] = scales
        self._errors[blocks] = errors.amax(1)

    def candidates(self, queries: Tensor, k: int, size: int, allowed: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return pairs (query, row), by query: among its rows are the k best of each query, with every tie.

        Args:
            queries: (q, d) float32 unit vectors.
            k: at most the number of blocks that hold an allowed row.
            size: rows in use, from the first.
            allowed: (size,) bool; None for all.
        """
        scales = _scale(queries)
        codes, errors = _quantize(queries, scales[:, None])
        slopes = codes.float().norm(dim=1) * scales
        columns = codes.t().contiguous()
        floors = torch.full((len(queries), k), -torch.inf)
        found = []
        for start in range(0, size, _SEGMENT):
            products = self._products(columns, start, min(size, start + _SEGMENT), allowed)
            blocks = slice(start // BLOCK, start // BLOCK + len(products))
            factors = scales[:, None] * self._scales[None, blocks]
            margins = slopes[:, None] * self._errors[None, blocks] + errors[:, None]
            middles = products.amax(1).t() * factors
            floors = torch.cat([floors, middles - margins], 1).topk(k, dim=1).values
            query, block = torch.nonzero(middles + margins >= floors[:, -1:], as_tuple=True)
            tops = products[block, :, query] * factors[query, block, None] + margins[query, block, None]
            pair, offset = torch.nonzero(tops >= floors[query, -1:], as_tuple=True)
            found.append((query[pair], start + block[pair] * BLOCK + offset, tops[pair, offset]))
        query, row, top = (torch.cat(parts) for parts in zip(*found, strict=True))
        kept = torch.nonzero(top >= floors[query, -1]).flatten()
        kept = kept[torch.argsort(query[kept], stable=True)]
        return query[kept], row[kept]

    def _products(self, columns: Tensor, start: int, stop: int, allowed: Tensor | None) -> Tensor:
        """(blocks, BLOCK, q) int32 products of the rows from `start`; those that may not answer get `_NO_ROW`."""
        padded = stop + -stop % BLOCK
        products = torch._int_mm(self._codes[start:padded], columns)
        products[stop - start :] = _NO_ROW
        if allowed is not None:
            products[: stop - start].masked_fill_(~allowed[start:stop, None], _NO_ROW)
        return products.view(-1, BLOCK, columns.shape[1])


@lru_cache
def int8_pays(dimension: int) -> bool:
    """Say whether this machine's int8 product is right, and faster than the float32 product.

    `torch._int_mm` is not a public function: it is believed only where it was seen to work.
    """
    generator = torch.Generator().manual_seed(0)
    codes = torch.randint(-127, 128, (_SEGMENT // 2, dimension), generator=generator, dtype=torch.int8)
    floats = codes.float()
    try:
        for queries in (1, 3, 32):
            columns = codes[:queries].t().contiguous()
            exact = (codes.double() @ columns.double()).int()
            if not torch.equal(torch._int_mm(codes, columns), exact):
                return False
    except (RuntimeError, AttributeError):
        return False
    return _seconds(lambda: torch._int_mm(codes, columns)) < _seconds(lambda: floats @ floats[:32].t())


def _grown(old: Tensor, length: int) -> Tensor:
    new = torch.zeros((length, *old.shape[1:]), dtype=old.dtype)
    new[: len(old)] = old
    return new


def _seconds(run: Callable[[], Tensor]) -> float:
    """The best of a few runs."""
    best = math.inf
    for _ in range(5):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def _scale(rows: Tensor) -> Tensor:
    """(n,) the step of the codes with which the largest number of each of the n rows is still coded."""
    return rows.abs().amax(1).clamp_min_(torch.finfo(torch.float32).tiny) / _LARGEST_CODE


def _quantize(rows: Tensor, scales: Tensor) -> tuple[Tensor, Tensor]:
    """Return int8 codes, and bounds on the lengths of what they leave out."""
    codes = torch.round(rows / scales)
    errors = (rows - codes * scales).norm(dim=-1) * (1 + _RELATIVE_SLACK) + _SLACK
    return codes.to(torch.int8), errors
