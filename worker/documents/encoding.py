"""Bytes of unknown encoding become text."""

from __future__ import annotations

import codecs
import re

from charset_normalizer import CharsetMatch, CharsetMatches, from_bytes
from ftfy.badness import is_bad

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
_FIRST_ODD = 0x80
_LEAST_ODD = 8
_MOST_ODD = 0.3
_HALF_WIDTH = re.compile("[\uff61-\uff9f]")
_MOST_HALF_WIDTH = 0.3
# Standards that hardly a file was ever written in, near enough to others to win by chance.
_UNUSED = ["iso8859_3", "iso8859_4", "iso8859_10", "iso8859_13", "iso8859_14", "iso8859_16", "kz1048", "ptcp154"]
_JAPANESE = ["cp932", "shift_jis", "shift_jis_2004", "shift_jisx0213"]
# Two detections nearer than this are a draw, and then Windows-1252 is by far the likeliest in the West.
_DRAW = 0.02
_ALIKE = 0.03


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
    wide = _wide(data)
    if wide:
        return data.decode(wide, errors="replace")
    try:
        # Not final: a character that the end of the file cuts off is no reason to take all for another encoding.
        return codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return _decode_legacy(data, declared)


def _decode_legacy(data: bytes, declared: str) -> str:
    for encoding in filter(None, (_in_use(declared), _unless_odd(data))):
        try:
            text = data.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
        if declared or not is_bad(text):
            return text
    return data.decode(_detect(data), errors="replace")


def _in_use(declared: str) -> str:
    """Return the declared encoding as browsers understand it: Latin-1 is Windows-1252, Unicode is not these bytes."""
    name = declared.lower()
    if name.startswith("utf"):
        return ""
    return "cp1252" if name in ("iso-8859-1", "latin-1", "latin1", "us-ascii", "ascii") else declared


def _unless_odd(data: bytes) -> str:
    """Return the Western encoding where a few odd signs in plain letters leave nothing to detect by, else ""."""
    sample = data[:_SAMPLE]
    odd = sum(byte >= _FIRST_ODD for byte in sample)
    return "cp1252" if odd < _LEAST_ODD and odd < _MOST_ODD * len(sample) else ""


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
    matches = from_bytes(sample, cp_exclusion=_UNUSED)
    best = matches.best()
    if best is not None and _is_half_width(str(best)):
        matches = from_bytes(sample, cp_exclusion=[*_UNUSED, *_JAPANESE])
        best = matches.best()
    return "cp1252" if best is None else _likeliest(best, matches)


def _likeliest(best: CharsetMatch, matches: CharsetMatches) -> str:
    """Return the encoding that is in use by far the most among those that fit about as well as the best."""
    draws = [
        match for match in matches if match.chaos <= best.chaos + _DRAW and match.coherence >= best.coherence - _ALIKE
    ]
    names = {name for match in draws for name in match.could_be_from_charset}
    if best.encoding in _LATIN and "cp1252" in names:
        return "cp1252"
    # Hebrew has no capitals: what reads as Russian without a single one is none.
    if "cp1255" in names and not any(map(str.isupper, str(best))):
        return "cp1255"
    return best.encoding


def _is_half_width(text: str) -> bool:
    """Tell what nobody writes and any bytes make in Japanese encodings: syllables of half a letter's width."""
    return len(_HALF_WIDTH.findall(text)) > _MOST_HALF_WIDTH * len(text)


# Not Windows-1254: it differs in six letters alone, which are Turkish there and Icelandic in Windows-1252.
_LATIN = {
    "cp1250",
    "cp1257",
    "cp1258",
    "mac_latin2",
    "mac_roman",
    "mac_iceland",
    "iso8859_2",
    "latin_1",
    "cp850",
}
