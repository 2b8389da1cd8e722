"""EPUB books become blocks, chapter after chapter."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import unquote

from worker.documents.archives import open_archive, read_part
from worker.documents.blocks import Block
from worker.documents.encoding import decode
from worker.documents.markup import blocks, parse
from worker.documents.nesting import Container
from worker.documents.xmlfiles import parse_xml
from worker.errors import DocumentRefused

_PACKAGE = "{http://www.idpf.org/2007/opf}"
_CONTAINER = "{urn:oasis:names:tc:opendocument:xmlns:container}"
_ENCRYPTION = "META-INF/encryption.xml"
_REFERENCE = "{http://www.w3.org/2001/04/xmlenc#}CipherReference"


def read_epub(data: bytes, container: Container) -> Iterator[Block]:
    """Yield the blocks of a book in the order of its spine. Raises DocumentRefused where it is locked (DRM)."""
    with open_archive(data, container.limits) as archive:
        locked = _locked(archive)
        for number, name in enumerate(_spine(archive), start=1):
            if name in locked or "META-INF/rights.xml" in archive.namelist():
                raise DocumentRefused("is locked by its shop (DRM); it cannot be read")
            tree = parse(decode(read_part(archive, name)))
            for block in blocks(tree):
                yield replace(block, location=f"part {number}")


def _locked(archive: zipfile.ZipFile) -> set[str]:
    """Return the names of encrypted parts; often these are fonts alone."""
    if _ENCRYPTION not in archive.namelist():
        return set()
    return {unquote(one.get("URI", "")) for one in parse_xml(read_part(archive, _ENCRYPTION)).iter(_REFERENCE)}


def _spine(archive: zipfile.ZipFile) -> Iterator[str]:
    """Yield the names of the book's text parts; one that is missing is left out."""
    container = parse_xml(read_part(archive, "META-INF/container.xml"))
    root = container.find(f".//{_CONTAINER}rootfile")
    if root is None:
        raise DocumentRefused("is damaged: the book has no table of its parts")
    path = root.get("full-path", "")
    package = parse_xml(read_part(archive, path))
    items = (item for item in package.iter(f"{_PACKAGE}item") if "nav" not in item.get("properties", "").split())
    parts = {item.get("id"): item.get("href", "") for item in items}
    names = set(archive.namelist())
    for reference in package.iter(f"{_PACKAGE}itemref"):
        href = unquote(parts.get(reference.get("idref"), "").split("#")[0])
        name = posixpath.normpath(posixpath.join(posixpath.dirname(path), href))
        if name in names:
            yield name
