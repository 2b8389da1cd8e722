"""How much of a whole answer is in neither the evidence nor the question, however its sentences fare one by one."""

from __future__ import annotations

from collections.abc import Sequence

from worker.citations.findings import Statement
from worker.citations.grounds import Grounds

# An answer with more than this outside the evidence is weakly grounded: the 95th percentile of human-written answers
# that are grounded (mtRAG, answerable questions). A wrong figure counts for this part of a wholly new sentence. That
# words and pairs count alike, and once, was chosen among some twenty such sums by their F1 on RAGTruth's answers.
WEAKLY_GROUNDED, WRONG_FIGURE = 2.38, 0.4


def ungrounded(statements: Sequence[Statement], grounds: Grounds) -> float:
    """The new part of an answer, in sentences: what is new counts once, where it is said first.

    A sentence is new by the mean of two shares: its words that nothing shown holds, and its neighbouring words that
    no passage holds near each other. Long answers have more room for both, and are wrong more often.
    """
    claims = [statement for statement in statements if statement.kind in ("claim", "echo")]
    words, pairs = set(grounds.asked), set[tuple[str, str]]()
    total = WRONG_FIGURE * sum(any(check.state == "unsupported" for check in claim.figures) for claim in claims)
    for claim in claims:
        new_words = grounds.evidence.unseen(claim.stems) - words
        new_pairs = [pair for pair in grounds.evidence.new_pairs(claim.stems) if pair not in pairs]
        total += (len(new_words) / max(1, len(set(claim.stems))) + len(new_pairs) / max(1, len(claim.stems) - 1)) / 2
        words |= new_words
        pairs.update(new_pairs, ((second, first) for first, second in new_pairs))
    return total


def novelty(statement: Statement, grounds: Grounds) -> float:
    """The share of a statement's neighbouring words that no passage holds near each other, 0..1."""
    return len(grounds.evidence.new_pairs(statement.stems)) / max(1, len(statement.stems) - 1)
