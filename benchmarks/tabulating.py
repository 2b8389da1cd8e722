"""Prints figures as a table and writes them as one flat JSON object."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print one table; fractions with three places."""
    table = Table(title=title)
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left")
    for row in rows:
        table.add_row(*(f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row))
    Console(width=120).print(table)


def write(figures: Mapping[str, float | int], path: Path | None) -> None:
    """Write the figures where a path is given."""
    if path:
        path.write_text(json.dumps(dict(figures), indent=2) + "\n", encoding="utf-8")
