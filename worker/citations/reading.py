"""Takes a model's output apart: the answer's own words, and every string that it offered as a source."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from worker.citations.debris import strip_debris
from worker.citations.editing import Edit, Edited, apply_edits
from worker.citations.listings import Listing, find_listings
from worker.citations.markers import find_markers, widen
from worker.citations.mentions import Findings, Mention
from worker.citations.naming import Shown
from worker.citations.pointers import Pointer, read_list, read_numbers
from worker.citations.prose import code_spans, find_bracketed_numbers, find_names_in_prose, find_worded_numbers
from worker.citations.unwrapping import unwrap

_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200e\u200f\ufff9-\ufffb\ud800-\udfff]"
)
_TRAILING = re.compile(r"(?<![ \t])[ \t]+(?=\n)|(?<!\n)\n{3,}")


@dataclass(frozen=True, slots=True)
class Reading:
    """An answer's own words and what it offered as sources."""

    text: str
    mentions: tuple[Mention, ...]
    """In order of first mention; positions count in `text`."""
    listed: bool
    """The output has a place for sources, filled or not."""
    truncated: bool
    looped: bool


def read(output: str, shown: Shown, words: frozenset[str]) -> Reading:
    """Read a model's output against the documents that it was shown."""
    cleaned = strip_debris(output)
    unwrapped = unwrap(cleaned.text)
    offered: list[Mention] = []
    text, truncated = cleaned.text, cleaned.truncated
    if unwrapped:
        text = strip_debris(unwrapped.text).text
        truncated = unwrapped.truncated
        offered = [mention for item in unwrapped.offered for mention in _offered(item, shown)]
    abandoned = _abandoned(cleaned.tail, shown, words) if cleaned.tail else []
    body, mentions, listed, cut_off = _body(text, shown, words)
    listed = listed or (unwrapped is not None and unwrapped.listed)
    return Reading(body, (*mentions, *offered, *abandoned), listed, truncated or cut_off, cleaned.looped)


def _offered(item: str | int, shown: Shown) -> list[Mention]:
    pointers = read_numbers(str(item), shown, marker=str(item)) or read_list(str(item), shown)
    return [_mention(pointer) for pointer in pointers]


def _abandoned(tail: str, shown: Shown, words: frozenset[str]) -> list[Mention]:
    """What an invented next turn names was offered as well, and counts for nothing."""
    _, mentions, _, _ = _body(tail, shown, words)
    return [Mention(mention.string, None, mention.reason or "abandoned") for mention in mentions]


def _mention(pointer: Pointer) -> Mention:
    return Mention(pointer.string, pointer.name, "" if pointer.name else pointer.reason)


def _body(text: str, shown: Shown, words: frozenset[str]) -> tuple[str, list[Mention], bool, bool]:
    findings = Findings(text)
    for start, end in code_spans(text):
        findings.close(start, end)
    listings = sorted(find_listings(text, shown), key=lambda listing: (listing.start, -listing.end))
    listings = [listing for listing in listings if _take_listing(findings, listing, shown)]
    notes = {listing.key: listing.pointers for listing in listings if listing.key}
    find_bracketed_numbers(findings, shown)
    cut_off = find_markers(findings, shown, notes, words)
    find_worded_numbers(findings, shown)
    find_names_in_prose(findings, shown)
    edited = apply_edits(text, findings.edits)
    if not re.search(r"\w", edited.text) and not listings and re.fullmatch(r"[\s\d\[\],.]+", text):
        return text.strip(), [], False, False  # the number in brackets is the answer
    cut_off = cut_off or any(_is_cut_off(listing, text, shown) for listing in listings)
    body, mentions = _tidied(edited, sorted(findings.mentions, key=_order))
    return body, mentions, bool(listings), cut_off


def _tidied(edited: Edited, mentions: Iterable[Mention]) -> tuple[str, list[Mention]]:
    """The text without the space and the control characters left over, and the mentions at their new places."""
    spaces = [Edit(*m.span(), "\n\n" if "\n" in m[0] else "") for m in _TRAILING.finditer(edited.text)]
    tidied = apply_edits(edited.text, spaces)
    text = _CONTROL.sub("", tidied.text)
    lead = len(text) - len(text.lstrip())

    def placed(mention: Mention) -> Mention:
        if mention.position is None:
            return mention
        return replace(mention, position=max(0, tidied.moved(edited.moved(mention.position)) - lead))

    return text.strip(), [placed(mention) for mention in mentions]


def _order(mention: Mention) -> tuple[bool, bool, int]:
    """By first mention; names that stay in the text first, so that reading the checked answer changes nothing."""
    return not mention.stays, mention.position is None, mention.position or 0


def _take_listing(findings: Findings, listing: Listing, shown: Shown) -> bool:
    if not findings.is_free(listing.start, listing.end):
        return False
    mentions = [_mention(pointer) for pointer in listing.pointers]
    if mentions and _is_cut_off(listing, findings.text, shown):
        mentions[-1] = replace(mentions[-1], reason="cut_off")
    findings.take(*widen(findings.text, listing.start, listing.end), mentions)
    return True


def _is_cut_off(listing: Listing, text: str, shown: Shown) -> bool:
    """The output ends inside a name, which is no name even where it fits, or inside the label."""
    if text[listing.end :].strip():
        return False
    if not listing.pointers:
        return not text.rstrip().endswith((":", "：", "]", "none", "None"))
    last = listing.pointers[-1]
    return last.name is None and text.rstrip().endswith(last.string) and shown.is_cut_off(last.string)
