"""Prints a document's name on one line: what breaks lines, turns text round or is markup is escaped."""

from __future__ import annotations

import re
import unicodedata

# Enough to keep a page from seeing a tag, an entity, a link, an image or code; ordinary punctuation stays readable.
_MARKUP = (
    (re.compile(r"&(?=#?\w+;)"), "&amp;"),
    (re.compile("<"), "&lt;"),
    (re.compile(">"), "&gt;"),
    (re.compile(r"\](?=\()|!(?=\[)|`"), r"\\\g<0>"),
)


def printable_name(name: str) -> str:
    """The name with control, format and line-separating characters as `\\uXXXX`, and its markup disarmed.

    An ordinary name comes back unchanged.
    """
    visible = "".join(map(_visible, name))
    for pattern, replacement in _MARKUP:
        visible = pattern.sub(replacement, visible)
    return visible


def needs_escaping(name: str) -> bool:
    """Whether a name would not print as itself."""
    return printable_name(name) != name


def _visible(character: str) -> str:
    category = unicodedata.category(character)
    unsafe = category[0] == "C" or category in ("Zl", "Zp")
    return f"\\u{ord(character):04x}" if unsafe else character
