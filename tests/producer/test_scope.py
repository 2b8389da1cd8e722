"""Filters and turns as apps write them; nonsense is refused by name before it is sent."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from producer import Filters, InvalidRequest, Question, Turn
from producer.errors import ContractError


def test_a_single_pattern_or_tag_may_be_a_string():
    assert Filters(names="*.pdf", tags="approved") == Filters(names=("*.pdf",), tags=("approved",))


def test_a_date_is_its_midnight_in_utc_and_a_datetime_keeps_its_zone():
    assert Filters(modified_from=date(2024, 1, 1)).modified_from == datetime(2024, 1, 1, tzinfo=UTC).timestamp()
    east = datetime(2024, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    assert Filters(modified_until=east).modified_until == datetime(2024, 1, 1, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("conditions", "named"),
    [
        ({"names": [5]}, "names"),
        ({"tags": [""]}, "tags"),
        ({"names": ["x"] * 101}, "101"),
        ({"modified_from": "yesterday"}, "modified_from"),
        ({"modified_until": True}, "modified_until"),
        ({"folder": None}, "folder"),
    ],
)
def test_a_condition_that_is_none_is_refused_by_name(conditions, named):
    with pytest.raises(InvalidRequest, match=named):
        Filters(**conditions)


@pytest.mark.parametrize("history", ["What?", [{"role": "system", "content": "x"}], [Turn] * 101, [5]])
def test_a_history_that_is_none_is_refused(history):
    with pytest.raises((InvalidRequest, ContractError)):
        Question(text="What?", collection="c", history=history)


def test_a_turn_that_is_too_long_is_refused():
    with pytest.raises(InvalidRequest, match="8000"):
        Turn(role="user", content="x" * 8001)


@pytest.mark.parametrize("reply_to", ["answers", "stream:", "task:app.got", "task:@q", "stream:a b", "http://x"])
def test_a_place_for_replies_that_is_none_is_refused(reply_to):
    with pytest.raises(InvalidRequest, match="reply_to"):
        Question(text="What?", collection="c", reply_to=reply_to)


@pytest.mark.parametrize("reply_to", ["stream:rag:collections", "stream:spark.answer", "task:app.got@spark.ingest"])
def test_a_reply_cannot_be_led_into_what_only_workers_may_write(reply_to):
    with pytest.raises(InvalidRequest, match="rag-kit's own"):
        Question(text="What?", collection="c", reply_to=reply_to)


def test_a_question_with_everything_survives_the_wire():
    question = Question(
        text="What?",
        collection="c",
        filters=Filters(names="*.pdf", modified_from=date(2024, 1, 1)),
        history=(Turn(role="user", content="Before?"),),
        reply_to="task:app.got_answer@app",
    )
    assert Question.from_dict(json.loads(json.dumps(question.to_dict()))) == question
