"""An app and a worker of different ages understand each other: messages of the first version, kept as files.

`recorded/` holds them; a file is added with each schema and none is ever changed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from producer.contract import Answer, IngestReport, IngestRequest, Message, Progress, Question
from producer.states import interpret

RECORDED = Path(__file__).parent / "recorded"
KINDS: dict[str, type[Message]] = {
    "question": Question,
    "answer": Answer,
    "ingest_request": IngestRequest,
    "ingest_report": IngestReport,
    "progress": Progress,
}


def recorded(name: str) -> dict[str, Any]:
    message: dict[str, Any] = json.loads((RECORDED / f"{name}.json").read_text())
    return message


def holds(new: Any, old: Any) -> bool:
    """Whether whoever reads `old` finds everything in `new`: the same fields of the same kinds, perhaps more."""
    if isinstance(old, dict):
        return isinstance(new, dict) and all(name in new and holds(new[name], value) for name, value in old.items())
    if isinstance(old, list):
        return isinstance(new, list) and all(holds(a, b) for a, b in zip(new, old, strict=True))
    return bool(new == old)


@pytest.mark.parametrize("name", KINDS)
def test_what_the_first_version_wrote_is_read_without_a_loss(name):
    """And written again with all that the first version reads: it goes both ways."""
    old = recorded(name)
    message = KINDS[name].from_dict(old)
    assert holds(json.loads(json.dumps(message.to_dict())), old)


@pytest.mark.parametrize("name", KINDS)
def test_what_a_later_version_may_add_is_ignored(name):
    later = {**recorded(name), "schema": 99, "invented_later": {"a": [1]}}
    assert KINDS[name].from_dict(later) == KINDS[name].from_dict(recorded(name))


def test_a_question_of_the_first_version_has_no_history_no_filter_and_no_reply():
    question = Question.from_dict(recorded("question"))
    assert (question.history, question.filters, question.reply_to) == ((), None, "")


def test_a_receipt_of_the_first_version_still_tells_queued_from_unknown():
    first = json.dumps({"kind": "answer", "deadline": 4_000_000_000.0})
    status, _ = interpret("id", first, None, None)
    assert (status.state, status.kind, status.words) == ("queued", "answer", "queued")
