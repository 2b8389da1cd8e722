"""Uploaded bytes that wait in Redis beside their message become a file for a reader that may die of it."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Final

from producer.names import UPLOAD_PREFIX
from worker.database import Database
from worker.errors import UploadLost

_PIECE: Final = 1 << 20


class Claims:
    """The claim-check side of uploads; the message holds an id, a size and a hash, and the bytes lie here."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @contextmanager
    def claimed(self, id: str, *, name: str, size: int, sha256: str) -> Iterator[Path]:
        """Lend the bytes as a file with the name's ending; forget them where the block ended well.

        Raises UploadLost where they are gone or not those that were sent, StoreUnavailable.
        """
        with tempfile.TemporaryDirectory(prefix="rag-upload-") as folder:
            path = Path(folder) / f"document{PurePosixPath(name).suffix}"
            with path.open("wb") as file:
                found = self._copy(UPLOAD_PREFIX + id, file)
            if found != (size, sha256):
                raise UploadLost(f"{name}: the uploaded bytes are gone or damaged; send the document again")
            yield path
        self.forget(id)

    def forget(self, id: str) -> None:
        """Give the room of the bytes back; bytes that are gone are fine."""
        self._database.call(self._database.client.unlink, UPLOAD_PREFIX + id)

    def _copy(self, key: str, file: IO[bytes]) -> tuple[int, str]:
        """Copy in pieces, so that memory does not grow with the document; return its size and hash."""
        digest, size = hashlib.sha256(), 0
        while piece := self._database.call(self._database.client.getrange, key, size, size + _PIECE - 1):
            file.write(piece)
            digest.update(piece)
            size += len(piece)
        return size, digest.hexdigest()
