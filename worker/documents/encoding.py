"""Bytes of unknown encoding become text."""

from __future__ import annotations

import codecs
import re

from charset_normalizer import from_bytes

from worker.errors import DocumentRefused

# UTF-32 first: its little-endian mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE = 64 * 1024
_BINARY = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_MAX_BINARY = 0.01
# Two detections nearer than this are a draw, and then Windows-1252 is by far the likeliest in the West.
_DRAW = 0.02


def decode(data: bytes, *, declared: str = "") -> str:
    """Return the text in `data`: by its byte-order mark, as UTF-8, as declared, else by detection.

    Raises DocumentRefused where the bytes are not text.
    """
    text = _decode(data, declared)
    if len(_BINARY.findall(text)) > _MAX_BINARY * len(text):
        raise DocumentRefused("is not text: binary content; check the file's type")
    return text


def _decode(data: bytes, declared: str) -> str:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, errors="replace")
    for encoding in filter(None, (_wide(data), "utf-8", declared)):
        try:
            return data.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
    return data.decode(_detect(data), errors="replace")


def _wide(data: bytes) -> str:
    """Return the name of UTF-16 or UTF-32 without a mark, told by where the zero bytes of ASCII stand."""
    sample = data[: _SAMPLE // 4 * 4]
    zeros = [sample[offset::4].count(0) / max(1, len(sample) // 4) for offset in range(4)]
    if min(zeros[1:]) > 0.9:
        return "utf-32-le"
    if min(zeros[:3]) > 0.9:
        return "utf-32-be"
    if min(zeros[1], zeros[3]) > 0.3 and max(zeros[0], zeros[2]) < 0.1:
        return "utf-16-le"
    if min(zeros[0], zeros[2]) > 0.3 and max(zeros[1], zeros[3]) < 0.1:
        return "utf-16-be"
    return ""


def _detect(data: bytes) -> str:
    # A cut-off last line would look like damage in a multi-byte encoding.
    sample = data if len(data) <= _SAMPLE else data[: data.rfind(b"\n", 0, _SAMPLE) + 1] or data[:_SAMPLE]
    matches = from_bytes(sample)
    best = matches.best()
    if best is None:
        return "cp1252"
    draws = (match for match in matches if match.chaos <= best.chaos + _DRAW)
    latin = best.encoding in _LATIN and any("cp1252" in match.could_be_from_charset for match in draws)
    return "cp1252" if latin else best.encoding


_LATIN = {
    "cp1250",
    "cp1254",
    "cp1257",
    "cp1258",
    "mac_latin2",
    "mac_roman",
    "mac_iceland",
    "iso8859_2",
    "latin_1",
    "cp850",
}
