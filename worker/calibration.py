"""An embedder's vectors of known pairs in, the cosine below which a passage is about something else out.

Cosines mean different things to different models: what one calls unrelated lies near 0, what another does near 0.7.
So the threshold lies between two averages that every model shows for itself on `PAIRS`: the cosine of a question to
a passage that answers it, and of a question to a passage on another subject.

How far between is one number for all models, `SHARE`, fitted with all-MiniLM-L6-v2 (averages .486 and .058, so the
threshold is .315) on questions whose evidence was among the ten nearest passages, and on questions put to another
collection. Kept: 99.6 % of 238 claims of SciFact, all of 117 rewritten and of 102 last-turn questions of the mtrag
FiQA pool. Abstained: 87 % of FiQA's questions put to SciFact, 80 % of SciFact's claims put to FiQA, 99 % put to IRS
pages. At 2/3 these are 97.9, 100 and 99.0 % kept, 93, 86 and 99 % abstained. The threshold tells subjects apart, not
whether a passage on the subject answers the question: that is left to the checks of the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

PAIRS: Final[tuple[tuple[str, str], ...]] = (
    ("When can I take money out of my retirement plan?", "Withdrawals from the plan are allowed from age 59 1/2."),
    ("How much of my mortgage interest is deductible?", "Interest on a home loan may be deducted up to a limit."),
    ("What does my dental cover pay for?", "The dental policy pays for two cleanings and one set of X-rays a year."),
    ("Who gets my account when I die?", "The account passes to the beneficiary whom the owner has named."),
    ("How do I rebalance a portfolio?", "Sell what has grown beyond its share and buy what has fallen below it."),
    ("Is the car insured abroad?", "The motor policy covers driving in neighbouring countries for thirty days."),
    ("How are stock options taxed?", "On exercise the gain over the strike price is taxed as ordinary income."),
    ("What happens if I miss a loan payment?", "A late instalment costs a fee and is reported after thirty days."),
    ("How is the pension calculated?", "The monthly benefit is years of service times a share of the final salary."),
    ("Can I pay school fees from the savings plan?", "Education savings may be spent on tuition, books and board."),
    ("How do bees make honey?", "Nectar is passed from bee to bee and dried in the comb until it thickens."),
    ("Why is the sky blue?", "Air scatters short waves of sunlight more than long ones."),
    ("How do I prune roses?", "Cut the canes above an outward bud at the end of winter."),
    ("Who built the first steam engine?", "An early engine that raised water by steam pumped out mines."),
    ("What is a sonnet?", "A poem of fourteen lines with a fixed pattern of rhymes."),
    ("How do vaccines work?", "They show the immune system a harmless part of a germ, so that it learns it."),
)  # fmt: skip
"""Questions and passages that answer them; each is on another subject than all the others."""


SHARE: Final = 0.6


def threshold(
    questions: npt.NDArray[np.float32], passages: npt.NDArray[np.float32], *, share: float = SHARE
) -> float:
    """Return the cosine that lies `share` of the way from unrelated to related pairs.

    Args:
        questions: (n, d) unit vectors of the questions of `PAIRS`.
        passages: (n, d) unit vectors of their passages.
        share: 0 for the average of unrelated pairs, 1 for that of related ones.
    """
    cosines = questions @ passages.T
    related, apart = np.diag(cosines).mean(), _mean_apart(cosines)
    return float(apart + share * (related - apart))


def unrelated(embed: Callable[[Sequence[str]], npt.NDArray[np.float32]]) -> float:
    """Return the average cosine of texts on different subjects, the passages of `PAIRS`.

    Args:
        embed: gives the (n, d) unit vectors of n texts.
    """
    vectors = embed([passage for _, passage in PAIRS])
    return _mean_apart(vectors @ vectors.T)


def _mean_apart(cosines: npt.NDArray[np.float32]) -> float:
    """The average of a square of cosines but for its diagonal."""
    return float(cosines[~np.eye(len(cosines), dtype=np.bool_)].mean())
