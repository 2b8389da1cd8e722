"""One file becomes one Document: `read_document` in this process, `read_isolated` in one that may die of it."""

from __future__ import annotations

from worker.documents.isolation import IsolatedReader, read_isolated
from worker.documents.limits import Limits
from worker.documents.reading import FORMATS, read_document

__all__ = ["FORMATS", "IsolatedReader", "Limits", "read_document", "read_isolated"]
