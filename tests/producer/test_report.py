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
    assert "2 added, 0 changed, 0 removed, 1 renamed, 0 unchanged" in printed(report)
    assert "10 chunks in 2.0 s, 5.0 chunks/s" in printed(report)
    assert "warning: a.pdf: page 3" in printed(report)


def test_refused_files_are_told_under_their_reason_the_most_frequent_first():
    damaged = Refusal(name="x.pdf", reason="damaged")
    pictures = [Refusal(name=f"{number}.png", reason="unsupported") for number in range(9)]
    _, first, second = printed(IngestReport(collection="c", refused=(damaged, *pictures))).splitlines()
    assert first == "  refused, unsupported: 0.png, 1.png, 2.png, 3.png, 4.png and 4 more"
    assert second == "  refused, damaged: x.pdf"
