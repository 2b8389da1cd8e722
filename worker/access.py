"""A request and the grant it was signed with in, leave or refusal out: one app cannot touch another's collections.

Off until RAG_ACCESS_SECRET is set; then no unsigned request is worked on. Nothing is stored: a grant holds its own
words, and the secret says whether they are true.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import time
from collections.abc import Mapping, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, Final

from producer.grants import Grant, signature
from producer.names import ANSWER_TASK, DELETE_TASK, DOCUMENTS_TASK, INGEST_TASK, UPLOAD_TASK
from worker.errors import AccessDenied, SettingError


class Right(StrEnum):
    """What a grant may allow."""

    ASK = "ask"
    WRITE = "write"
    FOLDERS = "folders"
    """Apart from `write`, as an ingest reads whatever folder of the worker's machine it is given."""


_NEEDED: Final = {
    ANSWER_TASK: Right.ASK,
    DOCUMENTS_TASK: Right.ASK,
    UPLOAD_TASK: Right.WRITE,
    DELETE_TASK: Right.WRITE,
    INGEST_TASK: Right.FOLDERS,
}
_PATTERN = re.compile(r"[a-z0-9_-]*\*?")
_UNSIGNED = (
    "this worker takes signed requests only; set RAG_GRANT to what `python -m worker grant` prints for the app"
)
_FORGED = "the grant or the signature is not of this worker's secret; have the operator issue the grant anew"


class Access:
    """Knows the secrets: the first issues grants, each of them is good, so that one can replace another."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = tuple(secrets)

    def __bool__(self) -> bool:
        return bool(self._secrets)

    def issue(self, app: str, collections: Sequence[str], *, may: Sequence[str], until: float | None = None) -> Grant:
        """Return a grant; `until` is in Unix seconds. Raises SettingError: no secret, or no name of a collection."""
        if not self._secrets:
            raise SettingError("RAG_ACCESS_SECRET is not set; make one with: openssl rand -hex 32")
        wrong = [pattern for pattern in collections if not pattern or not _PATTERN.fullmatch(pattern)]
        if wrong:
            raise SettingError(
                f"{wrong[0]!r} is no collection; use a-z, 0-9, _ and -, and * at the end for any that begin so"
            )
        said = {"app": app, "collections": list(collections), "may": list(may), "until": until}
        words = base64.urlsafe_b64encode(json.dumps(said).encode()).decode()
        return Grant(words, _key(self._secrets[0], words))

    def require(self, task: str, id: str, message: Mapping[str, Any], signed: object) -> None:
        """Raise AccessDenied unless the message's sender may have this task done on this collection."""
        if not self._secrets:
            return
        if not isinstance(signed, Mapping):
            raise AccessDenied(_UNSIGNED)
        words = str(signed.get("words"))
        # The signature covers the message's id: sent again under another, it would bring the sender's answer there.
        if message.get("id") != id or not self._is_signed(task, message, words, str(signed.get("signature"))):
            raise AccessDenied(_FORGED)
        _require_right(json.loads(base64.urlsafe_b64decode(words)), _NEEDED[task], str(message.get("collection")))

    def _is_signed(self, task: str, message: Mapping[str, Any], words: str, claimed: str) -> bool:
        if not (words.isascii() and claimed.isascii()):
            return False
        expected = (signature(_key(secret, words), task, message) for secret in self._secrets)
        return any(hmac.compare_digest(each, claimed) for each in expected)


def _key(secret: str, words: str) -> bytes:
    return hmac.new(secret.encode(), words.encode(), hashlib.sha256).digest()


def _require_right(said: Mapping[str, Any], needed: Right, collection: str) -> None:
    if said["until"] is not None and time.time() > said["until"]:
        raise AccessDenied(f"the grant of {said['app']} is over; have the operator issue a new one")
    if needed not in said["may"]:
        raise AccessDenied(f"the grant of {said['app']} does not allow `{needed}`")
    if not any(fnmatchcase(collection, pattern) for pattern in said["collections"]):
        raise AccessDenied(f"the grant of {said['app']} does not hold for this collection")
