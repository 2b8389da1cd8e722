"""Rankings become one."""

from __future__ import annotations

from worker.fusion import fuse
from worker.records import Chunk, Hit


def hits(*names: str) -> list[Hit]:
    return [Hit(name, 0, 0.5, Chunk(name, 0, len(name))) for name in names]


def names(found: list[Hit]) -> list[str]:
    return [hit.document for hit in found]


def test_one_ranking_stays_as_it_is():
    assert names(fuse([(1.0, hits("b", "a", "c"))], 2)) == ["b", "a"]


def test_what_both_rankings_hold_comes_before_what_only_one_holds():
    assert names(fuse([(1.0, hits("a", "b", "c")), (1.0, hits("c", "d"))], 4))[0] == "c"


def test_the_heavier_ranking_leads_where_they_share_nothing():
    assert names(fuse([(1.0, hits("a", "b")), (2.0, hits("x", "y"))], 3)) == ["x", "y", "a"]


def test_ties_are_broken_by_name():
    assert names(fuse([(1.0, hits("b")), (1.0, hits("a"))], 2)) == ["a", "b"]
