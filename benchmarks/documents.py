"""Reads every file of `docs_hard` and `docs_finance` as an ingest would, and says what became of each.

python -m benchmarks.documents --data DIR [--json FILE] [--verbose]
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ftfy.badness import is_bad
from tokenizers import Tokenizer

from worker.chunking import chunk_document
from worker.documents import IsolatedReader
from worker.documents.isolation import CRASHED, TIMED_OUT
from worker.embedding import bundled_model
from worker.errors import DocumentError, NothingToIndex
from worker.records import Chunk
from worker.sources import SourceFile, list_files

FOLDERS = ("docs_hard", "docs_finance")
MAX_TOKENS = 256


@dataclass(frozen=True)
class Row:
    """What became of one file."""

    name: str
    outcome: str
    reason: str
    chunks: int
    empty: int
    mojibake: int
    seconds: float


def main() -> None:
    """Print a row a file and the totals; write the totals as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = list(measure(arguments.data, token_counter()))
    figures = totals(rows, files=sum(len(list_files(folder)) for folder in folders(arguments.data)))
    print(json.dumps(figures, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(figures))


def measure(data: Path, count_tokens: Callable[[str], int]) -> Iterator[Row]:
    """Yield a row a file, printed as it is known."""
    reader = IsolatedReader()
    print(f"{'outcome':9}{'chunks':>7}{'seconds':>9}  file (reason)")
    for folder in folders(data):
        for file in list_files(folder):
            row = read(reader, file, count_tokens)
            print(f"{row.outcome:9}{row.chunks:7}{row.seconds:9.2f}  {folder.name}/{row.name}  {row.reason}")
            yield row
    reader.close()


def folders(data: Path) -> list[Path]:
    """Return the folders that are there; `data` itself where it is one of documents."""
    return [data / name for name in FOLDERS if (data / name).is_dir()] or [data]


def read(reader: IsolatedReader, file: SourceFile, count_tokens: Callable[[str], int]) -> Row:
    """Read and cut one file."""
    start = time.perf_counter()
    chunks: list[Chunk] = []
    reason = ""
    try:
        chunks = chunk_document(reader.read(file.path), count_tokens=count_tokens, max_tokens=MAX_TOKENS)
        outcome = "indexed" if chunks else "lost"
    except NothingToIndex as error:
        outcome, reason = "nothing", error.reason
    except DocumentError as error:
        outcome, reason = "refused", error.reason
    except Exception as error:  # noqa: BLE001  # whatever else comes through would have ended an ingest
        outcome, reason = "crashed", f"{CRASHED}: {type(error).__name__}"
    seconds = time.perf_counter() - start
    empty = sum(not any(map(str.isalnum, chunk.text)) for chunk in chunks)
    mojibake = sum("\ufffd" in chunk.text or is_bad(chunk.text) for chunk in chunks)
    return Row(file.name, outcome, reason, len(chunks), empty, mojibake, seconds)


def totals(rows: list[Row], *, files: int) -> dict[str, float]:
    """Return the figures. `refused` counts both a refusal and a file with nothing to index: each has a reason."""
    outcomes = Counter(row.outcome for row in rows)
    return {
        "files": files,
        "accounted": outcomes["indexed"] + outcomes["nothing"] + outcomes["refused"],
        "indexed": outcomes["indexed"],
        "refused": outcomes["nothing"] + outcomes["refused"],
        "crashes": sum(row.reason.startswith(CRASHED) for row in rows),
        "hangs": sum(row.reason.startswith(TIMED_OUT) for row in rows),
        "empty_chunks": sum(row.empty for row in rows),
        "mojibake_chunks": sum(row.mojibake for row in rows),
        "chunks": sum(row.chunks for row in rows),
        "seconds": round(sum(row.seconds for row in rows), 2),
    }


def token_counter() -> Callable[[str], int]:
    """Return the count of the bundled embedder's own tokenizer, special tokens included."""
    tokenizer = Tokenizer.from_file(str(bundled_model() / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda text: len(tokenizer.encode(text).ids)


if __name__ == "__main__":
    main()
