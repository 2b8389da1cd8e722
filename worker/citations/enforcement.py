"""What a model wrote and what it was shown go in; an answer that cites, quotes and counts nothing else comes out."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from worker.citations.alignment import Similarity
from worker.citations.crediting import carries_clause, cite, credit
from worker.citations.editing import Edit, apply_edits
from worker.citations.escaping import needs_escaping, printable_name
from worker.citations.findings import SUPPORTED, Statement
from worker.citations.grounding import WEAKLY_GROUNDED, ungrounded
from worker.citations.grounds import Grounds
from worker.citations.markers import widen
from worker.citations.mentions import Mention
from worker.citations.naming import NAME_SHAPES, looks_like_a_name
from worker.citations.prose import UNAVAILABLE
from worker.citations.reading import Reading, read
from worker.citations.refusals import is_deflection, is_small_talk, refuses
from worker.citations.reporting import report_figures, report_flags, report_quotes, report_sentences
from worker.citations.statements import read_statements
from worker.records import Citation, CitedSource, DroppedCitation, Passage, Verdict

REFUSAL = "I don't have an answer for you."
"""What takes the place of an answer of which nothing is left."""

REASONS: dict[str, str] = {
    "not_shown": "no shown document has this name",
    "only_inside_text": "the name stands only inside a shown document's text",
    "ambiguous_name": "several shown documents fit the name",
    "no_such_number": "no shown document has this position",
    "foreign_marker": "a marker of another product",
    "image": "an image, which is never rendered",
    "cut_off": "the output ends inside the name or marker",
    "abandoned": "it stands behind the end of the answer",
    "refusal": "no answer is left for it to support",
    "empty": "there is no answer for it to support",
    "not_supported": "the document does not carry the statement",
    "figure_unsupported": "a figure of the statement is not in the evidence",
    "quote_unsupported": "a quotation of the statement is not in the evidence",
    "claim_conflict": "the evidence says otherwise",
}
"""Why a string that was offered as a source is not listed."""

# Each round removes something, or is the last; an answer that still changes after so many has no stable part.
_ROUNDS = 6


@dataclass(frozen=True, slots=True)
class _Round:
    """One pass over a text: what was read, what it was found to be, and what is left."""

    reading: Reading
    mentions: tuple[Mention, ...]
    statements: tuple[Statement, ...]
    dropped: tuple[tuple[Mention, str], ...]
    kept: tuple[str, ...]
    text: str
    abstained: bool


def enforce_citations(
    text: str,
    passages: Sequence[Passage],
    *,
    question: str = "",
    before: str = "",
    citations: Sequence[Citation] = (),
    policy: str = "strict",
    similarity: Similarity | None = None,
) -> Verdict:
    """Check a model's output against the passages it was shown, in their order; never raises, on any string.

    `before` is what was asked before the question: its figures may be reckoned with as the question's may, and no
    answer need speak of it. `citations` are those that a connector received as structure. Policy `strict` removes a
    sentence with a figure or a quotation that the evidence does not hold; `flag` keeps and flags it. `similarity`
    tells how alike texts are: with it, evidence must speak of all that is asked, in those words or like ones, to be
    the source of an answer of few words, and it may rescue a paraphrase; it never vouches for a figure. Raises what
    `similarity` raises.
    """
    grounds = Grounds(passages, question, similarity, before)
    rounds: list[_Round] = []
    current, listed = text, tuple(_structured(citation, grounds) for citation in citations)
    while len(rounds) < _ROUNDS:
        rounds.append(_round(current, listed, grounds, strict=policy != "flag"))
        if len(rounds) > 1 and (rounds[-1].text, rounds[-1].kept) == (rounds[-2].text, rounds[-2].kept):
            return _verdict(text, rounds, grounds, policy)
        current, listed = rounds[-1].text, tuple(Mention(name, name) for name in rounds[-1].kept)
    rounds.append(_round(REFUSAL, (), grounds, strict=True))
    return _verdict(text, rounds, grounds, policy)


def _structured(citation: Citation, grounds: Grounds) -> Mention:
    """A citation that came as structure is held to the same rules, and its quotation must be there."""
    name, reason = grounds.shown.resolve(citation.name)
    if name is None and not citation.name and citation.passage is not None:
        name, reason = grounds.shown.numbered(citation.passage + 1), "no_such_number"
    if name and citation.quote and name not in grounds.quotes.holders(citation.quote):
        name, reason = None, "quote_unsupported"
    return Mention(citation.name, name, "" if name else reason)


# --- one round ---------------------------------------------------------------------------------


def _round(text: str, listed: Sequence[Mention], grounds: Grounds, *, strict: bool) -> _Round:
    reading = read(text, grounds.shown, grounds.evidence.words)
    mentions = (*reading.mentions, *listed)
    body = _without_names(reading.text, [mention.string for mention in mentions if mention.name is None])
    statements = read_statements(body, grounds)
    named = [mention for mention in mentions if mention.name]
    credited = credit(named, statements, grounds, strict=strict)
    left = _without(body, [s for s in statements if s.must_go]) if strict else body
    remaining = [s for s in statements if not (strict and s.must_go)]
    abstained = _abstains(remaining, grounds, [c.mention.name or "" for c in credited if not c.reason])
    if _only_names(left, grounds) or _only_repeats(remaining) or (strict and not re.search(r"\w", left)):
        left, abstained = REFUSAL, True
    whole = ("empty" if not statements else "refusal") if abstained else ""
    dropped = [(m, m.reason) for m in mentions if m.name is None]
    dropped += [(c.mention, whole or c.reason) for c in credited if whole or c.reason]
    kept = tuple(dict.fromkeys(c.mention.name or "" for c in credited if not (whole or c.reason)))
    return _Round(reading, mentions, statements, tuple(dropped), kept, left, abstained)


def _only_names(text: str, grounds: Grounds) -> bool:
    """Whether names are all that a text says: to name a document is no answer."""
    said = re.sub(UNAVAILABLE, "", grounds.shown.without_names(text), flags=re.I)
    return bool(re.search(r"\w", text)) and not re.search(r"\w", said)


def _only_repeats(statements: Sequence[Statement]) -> bool:
    """Whether an answer says nothing but what was asked."""
    claims = [statement for statement in statements if statement.kind != "no_claim"]
    return bool(claims) and all(statement.kind == "echo" for statement in claims)


def _without_names(text: str, strings: Collection[str]) -> str:
    """A name that was never shown appears nowhere, not even where it was no citation."""
    unknown = {string.lower() for string in strings if looks_like_a_name(string)}
    if not unknown:
        return text
    for pattern in NAME_SHAPES:
        text = pattern.sub(lambda match: UNAVAILABLE if match[0].lower() in unknown else match[0], text)
    return text


def _without(text: str, statements: Sequence[Statement]) -> str:
    edits = [Edit(*widen(text, statement.start, statement.end)) for statement in statements]
    return re.sub(r"\n{3,}", "\n\n", apply_edits(text, edits).text).strip() if edits else text


def _abstains(statements: Sequence[Statement], grounds: Grounds, credited: Sequence[str]) -> bool:
    """Whether an answer is a refusal, and not a partial one that a cited document carries for the rest."""
    if not refuses([statement.text for statement in statements]):
        return False
    answers = [s for s in statements if s.kind == "claim" and not s.fault and s.support >= SUPPORTED]
    return not any(
        carries_clause(name, clause, grounds) for s in answers for clause in s.clauses for name in credited
    )


# --- the verdict -------------------------------------------------------------------------------


def _verdict(output: str, rounds: Sequence[_Round], grounds: Grounds, policy: str) -> Verdict:
    first, last = rounds[0], rounds[-1]
    names = last.kept
    sources = tuple(cite(name, last.statements, grounds) for name in names)
    dropped = _dropped(output, rounds, names)
    left = {statement.text for statement in last.statements}
    removed = (
        [s for r in rounds for s in r.statements if s.must_go and s.text not in left] if policy != "flag" else []
    )
    verified = () if names or last.abstained else _verified(last.statements, grounds)
    mentioned = any(r.mentions for r in rounds)
    reported: Literal["reported", "none", "not_reported"] = (
        "reported" if mentioned else "none" if first.reading.listed else "not_reported"
    )
    return Verdict(
        text=last.text,
        sources=sources,
        sources_line=f"Sources: {', '.join(map(printable_name, names))}" if names else "",
        abstained=last.abstained,
        dropped=dropped,
        flags=tuple(dict.fromkeys(_flags(rounds, dropped, removed, verified, grounds))),
        cited=tuple(dict.fromkeys(m.name for r in rounds for m in r.mentions if m.name)),
        presented=tuple(dict.fromkeys(passage.name for passage in grounds.passages)),
        verified_by_check=verified,
        citations_reported=reported,
        truncated=first.reading.truncated,
        policy="flag" if policy == "flag" else "strict",
        figures=report_figures(last.statements, removed),
        quotes=report_quotes(last.statements, removed, last.mentions, grounds),
        sentences=report_sentences(last.statements, removed),
    )


def _dropped(output: str, rounds: Sequence[_Round], kept: Sequence[str]) -> tuple[DroppedCitation, ...]:
    """Each string once, with its place in the model's output; a document that is listed after all was not dropped."""
    found: dict[str, DroppedCitation] = {}
    position = 0
    for mention, reason in (item for r in rounds for item in r.dropped):
        if mention.string in found or mention.name in kept or mention.string in kept:
            continue
        marker = output.find(mention.marker or mention.string, position)
        marker = output.find(mention.marker or mention.string) if marker < 0 else marker
        position = max(position, marker)
        inside = output.find(mention.string, marker, marker + len(mention.marker)) if mention.marker else -1
        found[mention.string] = DroppedCitation(mention.string, reason, max(marker, inside))
    return tuple(found.values())


def _verified(statements: Sequence[Statement], grounds: Grounds) -> tuple[CitedSource, ...]:
    """The documents that carry an answer without citations, by the check alone."""
    sound = [s for s in statements if s.kind == "claim" and not s.fault and s.support >= SUPPORTED]
    names = dict.fromkeys(passage.name for passage in grounds.passages)
    found = [
        name for name in names if any(carries_clause(name, clause, grounds) for s in sound for clause in s.clauses)
    ]
    return tuple(cite(name, sound, grounds) for name in found)


def _flags(
    rounds: Sequence[_Round],
    dropped: Sequence[DroppedCitation],
    removed: Sequence[Statement],
    verified: Sequence[CitedSource],
    grounds: Grounds,
) -> list[str]:
    """What was unusual, from the whole answer down to its sentences."""
    first, last = rounds[0], rounds[-1]
    mentioned = any(r.mentions for r in rounds)
    empty = not first.statements
    answered = not last.abstained and not empty
    texts = [statement.text for statement in last.statements]
    reasons = {item.reason for item in dropped}
    unsupported = "not_supported" in reasons
    flags = [
        ("empty", empty),
        ("truncated", first.reading.truncated),
        ("repetition", first.reading.looped),
        ("uncited", answered and not mentioned),
        ("all_dropped", answered and mentioned and not last.kept),
        ("overcited", unsupported and bool(last.kept)),
        ("cited_doc_does_not_support", unsupported and not last.kept and answered),
        ("ambiguous_name", "ambiguous_name" in reasons),
        ("name_only_inside_evidence_text", "only_inside_text" in reasons),
        ("nothing_supported", last.abstained and (bool(removed) or _only_repeats(first.statements))),
        ("partial_abstain", answered and any(s.kind == "refusal" for s in last.statements)),
        ("deflection", last.abstained and any(map(is_deflection, texts))),
        ("small_talk", last.abstained and any(map(is_small_talk, texts))),
        ("weakly_grounded", answered and ungrounded(first.statements, grounds) > WEAKLY_GROUNDED),
        ("escape_on_output", any(map(needs_escaping, last.kept))),
    ]
    supported_by = [f"supported_by:{printable_name(source.name)}" for source in verified if unsupported]
    return [*(flag for flag, holds in flags if holds), *supported_by, *report_flags(first.statements)]
