"""What a person reads when an ingest is over."""

from __future__ import annotations

import io

from rich.console import Console

from producer.contract import IngestReport, Refusal
from producer.printing import print_report


def printed(report: IngestReport) -> str:
    text = io.StringIO()
    print_report(report, console=Console(file=text, width=200))
    return text.getvalue()


def test_counts_and_warnings_are_told():
    report = IngestReport(collection="c", added=2, renamed=1, chunks=10, seconds=2.0, warnings=("a.pdf: page 3",))
    assert printed(report).startswith("c: 2 added, 1 renamed, 10 chunks in 2.0 s\n")
    assert "warning: a.pdf: page 3" in printed(report)


def test_refused_files_are_told_under_their_reason_the_most_frequent_first():
    damaged = Refusal(name="x.pdf", reason="is damaged: no PDF")
    pictures = [Refusal(name=f"{number}.png", reason="unsupported") for number in range(9)]
    assert printed(IngestReport(collection="c", refused=(damaged, *pictures))).splitlines() == [
        "c: 10 not indexed",
        "  unsupported:",
        "    0.png, 1.png, 2.png, 3.png, 4.png and 4 more",
        "  damaged: no PDF:",
        "    x.pdf",
    ]


def test_where_nothing_was_to_be_done_that_is_told():
    assert printed(IngestReport(collection="c")) == "c: nothing to do\n"
