"""Text as it came out of a file becomes text that can be searched, quoted and found again."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

import ftfy
from ftfy.badness import badness, is_bad

# Only what a reader sees as plain letters is folded: NFKC would turn 10² into 102 and ½ into 1⁄2.
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
_SPACES = dict.fromkeys([0x09, 0x0B, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000], " ")
_BREAKS = {0x0C: "\n", 0x85: "\n", 0x2028: "\n", 0x2029: "\n\n"}
# Soft hyphens, zero-width spaces and marks, bidi overrides: invisible, and they hide or reorder words.
_INVISIBLE = dict.fromkeys(
    [0xAD, 0x200B, 0x200E, 0x200F, *range(0x202A, 0x202F), 0x2060, *range(0x2066, 0x206A), 0xFEFF]
)
_HYPHENS = {0x2010: "-", 0x2011: "-"}
_BULLETS = dict.fromkeys([0xF0B7, 0xF0A7, 0xF0D8, 0xF076], "•")
# Other private-use, surrogate and control characters mean nothing outside the font or program they come from.
_MEANINGLESS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff\ue000-\uf8ff\ufff0-\ufffb\ufffe\uffff]")
_FOLD = {**_LIGATURES, **_SPACES, **_BREAKS, **_INVISIBLE, **_HYPHENS, **_BULLETS}

LOST: Final = "\ufffd"
"""Stands for a character that the file does not tell."""
_LOST_DIGIT = re.compile(rf"\d{LOST}|{LOST}\d")
_GLYPH_NUMBER = re.compile(r"\(cid:\d+\)")
_MAX_LOST = 0.02


def clean(text: str) -> str:
    """Return the text composed (NFC), its invisible and meaningless characters gone, its spaces single."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").translate(_FOLD)
    text = unicodedata.normalize("NFC", _MEANINGLESS.sub("", text))
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")


def legible(text: str) -> str:
    """Return the text with doubly encoded characters (`Ã©` for `é`) put right and lost ones left out.

    Nothing is left of mojibake: where more than a few characters are lost or wrong, or a digit of a figure may be.
    """
    if is_bad(text):
        text = ftfy.fix_encoding(text)
    lost = text.count(LOST) + sum(map(len, _GLYPH_NUMBER.findall(text)))
    if lost + badness(text) > _MAX_LOST * len(text) or (lost and _LOST_DIGIT.search(text)):
        return ""
    return text.replace(LOST, "")
