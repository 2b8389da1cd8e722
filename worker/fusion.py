"""Two rankings of chunks become one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from worker.records import Hit

# Cormack, Clarke and Buettcher, Reciprocal Rank Fusion outperforms Condorcet and individual rank learning (2009).
_RANK_OFFSET: Final = 60


def fuse(rankings: Sequence[tuple[float, Sequence[Hit]]], k: int) -> list[Hit]:
    """Return the k best hits by reciprocal rank fusion of weighted rankings; ties by document name, then ordinal.

    A ranking's weight counts how many votes its places have.
    """
    votes: dict[tuple[str, int], float] = defaultdict(float)
    hits: dict[tuple[str, int], Hit] = {}
    for weight, ranking in rankings:
        for rank, hit in enumerate(ranking, start=1):
            place = (hit.document, hit.ordinal)
            votes[place] += weight / (_RANK_OFFSET + rank)
            hits[place] = hit
    best = sorted(votes, key=lambda place: (-votes[place], place))[:k]
    return [hits[place] for place in best]
