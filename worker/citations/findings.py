"""One sentence of an answer with everything that the checks found, and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from worker.citations.numerals import Figure
from worker.citations.support import Unit
from worker.records import FigureCheck, QuoteCheck

State = Literal["supported", "partly", "unsupported", "refusal", "no_claim"]

# The shares of a statement's words, 0..1, from which on evidence carries it, or a part of it.
SUPPORTED, PARTLY = 0.6, 0.35
# The states of a figure that the evidence holds.
FOUND = ("verified", "rounded")
_CONFLICTS = ("negation_conflict", "bound_flip", "term_swapped", "roles_swapped")


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a statement that may come from one document while the next part comes from another."""

    text: str
    stems: tuple[str, ...]
    figures: tuple[Figure, ...]
    """Those that the evidence holds."""
    is_whole: bool
    """Its sentence says by itself what it speaks of."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence of an answer and everything that the checks found."""

    start: int
    end: int
    text: str
    kind: str
    """`claim`, `refusal`, `echo` (it says what was asked, and no more), `no_claim` (nothing to check), `foreign` (a
    language that is not the evidence's)."""
    stems: tuple[str, ...]
    support: float
    unit: Unit | None
    """The evidence sentence that carries it best."""
    flips: tuple[str, ...]
    figures: tuple[FigureCheck, ...]
    quotes: tuple[QuoteCheck, ...]
    clauses: tuple[Clause, ...]

    @property
    def fault(self) -> str:
        """Why no document may be shown as this statement's source; "" where one may."""
        if any(check.state == "unsupported" and check.reason != "arithmetic" for check in self.figures):
            return "figure_unsupported"
        if any(check.state in ("not_found", "stitched") for check in self.quotes):
            return "quote_unsupported"
        return "claim_conflict" if any(flip in _CONFLICTS for flip in self.flips) else ""

    @property
    def state(self) -> State:
        """How far the evidence carries it."""
        if self.kind in ("foreign", "no_claim"):
            return "no_claim"
        if self.kind == "refusal":
            return "refusal"
        if self.kind == "echo" or self.fault or self.support < PARTLY:
            return "unsupported"
        return "supported" if self.support >= SUPPORTED else "partly"

    @property
    def must_go(self) -> bool:
        """Whether strict policy removes it: a figure or a quotation that the evidence does not hold."""
        return any(check.state == "unsupported" for check in self.figures) or any(
            check.state in ("not_found", "stitched") for check in self.quotes
        )
