"""Reads files with another library and says what each took; runs in an interpreter that has that library alone.

PYTHON benchmarks/peers.py pypdf|markitdown|unstructured < NAMES
"""

from __future__ import annotations

import importlib
import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path


def main() -> None:
    """Print `[suffix, seconds, characters]` a file; a file that the library refuses has no characters."""
    warnings.simplefilter("ignore")
    read = {"pypdf": pypdf, "markitdown": markitdown, "unstructured": unstructured}[sys.argv[1]]()
    for name in sys.stdin.read().splitlines():
        suffix = Path(name).suffix.lower()
        if sys.argv[1] == "pypdf" and suffix != ".pdf":
            continue
        start, characters = time.perf_counter(), 0
        try:
            characters = len(read(name))
        except Exception as error:  # noqa: BLE001  # each library has errors of its own
            print(f"{name}: {type(error).__name__}", file=sys.stderr)
        print(json.dumps([suffix, time.perf_counter() - start, characters]), flush=True)


def pypdf() -> Callable[[str], str]:
    """Return the text of all pages."""
    library = importlib.import_module("pypdf")
    return lambda name: "\n".join(page.extract_text() for page in library.PdfReader(name).pages)


def markitdown() -> Callable[[str], str]:
    """Return the file as Markdown, plugins and remote services off."""
    converter = importlib.import_module("markitdown").MarkItDown(enable_plugins=False)
    return lambda name: str(converter.convert(name).text_content)


def unstructured() -> Callable[[str], str]:
    """Return the text of all elements, by the strategy that needs no model."""
    partition = importlib.import_module("unstructured.partition.auto").partition
    return lambda name: "\n".join(str(element) for element in partition(name, strategy="fast"))


if __name__ == "__main__":
    main()
