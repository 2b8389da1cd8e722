"""What a model wrote and what it was shown, in; a verdict, out. Pure: no network, no server, no model.

`enforcement` puts the rooms together. Data flows one way through them:

    reading      debris, unwrapping, listings, pointers, markers, prose, naming, mentions, editing, escaping
    evidence     sentences, wording, contrasts, support
    figures      numerals, binding, equality, tables, arithmetic, ledger, figures
    statements   quotes, flips, refusals, alignment, answering, findings, grounds, carrying, statements
    verdict      crediting, grounding, reporting
"""

from worker.citations.alignment import Similarity
from worker.citations.enforcement import REASONS, REFUSAL, enforce_citations

__all__ = ["REASONS", "REFUSAL", "Similarity", "enforce_citations"]
