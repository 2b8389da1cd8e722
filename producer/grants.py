"""A grant in, signed requests out: which collections an app may touch, said so that no other app can claim it.

A grant is what an operator wrote for one app, and a key that only the workers' secret can make from those words. The
key signs each request (HMAC-SHA256, RFC 2104) and stays with the app: whoever sees a message cannot write another.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Signed = Mapping[str, str]
"""What travels beside a request: `words` of the grant, and the request's `signature`."""


@dataclass(frozen=True, slots=True)
class Grant:
    """The words that the workers read, and the key that signs in their name."""

    words: str
    key: bytes = field(repr=False)

    @classmethod
    def of(cls, text: str) -> Grant:
        """Read a grant as `python -m worker grant` prints it; raises ValueError without showing the key."""
        words, _, key = text.strip().partition(".")
        try:
            if words and len(decoded := base64.urlsafe_b64decode(key)) == hashlib.sha256().digest_size:
                return cls(words, decoded)
        except ValueError:
            pass
        raise ValueError("is no grant; copy all that `python -m worker grant` printed")

    def __str__(self) -> str:
        return f"{self.words}.{base64.urlsafe_b64encode(self.key).decode()}"

    def sign(self, task: str, message: Mapping[str, Any]) -> Signed:
        """Return what proves that the holder of this grant sent this message, to this task."""
        return {"words": self.words, "signature": signature(self.key, task, message)}


def signature(key: bytes, task: str, message: Mapping[str, Any]) -> str:
    """Return the signature of a request, the same on both sides of the wire whatever its JSON looked like there."""
    text = json.dumps([task, message], sort_keys=True, separators=(",", ":"))
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
