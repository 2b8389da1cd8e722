"""What a model wrote and what it was shown, in; a verdict, out. Pure: no network, no server, no model.

`enforcement` puts the rooms together. Data flows one way through them:

    reading      debris, unwrapping, listings, pointers, markers, prose, naming, mentions, editing, escaping
    evidence     sentences, wording, support
    figures      numerals, binding, equality, tables, contrasts, arithmetic, ledger, figures
    statements   quotes, flips, refusals, statements
    verdict      crediting, reporting
"""

from worker.citations.enforcement import REASONS, REFUSAL, enforce_citations

__all__ = ["REASONS", "REFUSAL", "enforce_citations"]
