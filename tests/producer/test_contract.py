"""Messages survive the wire, older and newer versions read each other, and nonsense is refused by name."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from producer.contract import (
    Answer,
    Audit,
    Dropped,
    IngestReport,
    IngestRequest,
    Progress,
    Question,
    Refusal,
    Source,
    TaskStatus,
)
from producer.errors import ContractError, InvalidRequest

ANSWER = Answer(
    question_id="q1",
    text="It is $500.",
    sources=(Source(name="a.pdf", page=2, heading=("Auto",), quote="It is $500.", start=10, end=21, score=0.8),),
    sources_line="Sources: a.pdf",
    timings={"retrieve": 0.1},
    usage={"prompt_tokens": 12},
    audit=Audit(cited=("a.pdf",), kept=("a.pdf",), dropped=(Dropped(string="b.txt", reason="not_shown"),)),
)
MESSAGES = [
    Question(text="What?", collection="handbook"),
    ANSWER,
    IngestRequest(folder="/documents", collection="handbook"),
    IngestReport(collection="handbook", added=3, refused=(Refusal(name="x.pdf", reason="encrypted"),)),
    Progress(total=5, done=2, chunks=9, seconds=3.0),
    TaskStatus(id="t", state="progress", progress=Progress(total=1)),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_survives_json(message):
    assert type(message).from_dict(json.loads(json.dumps(message.to_dict()))) == message


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_field_of_a_later_version_is_ignored(message):
    later = {**message.to_dict(), "schema": 99, "invented_later": {"a": 1}}
    assert type(message).from_dict(later) == message


def test_a_field_that_an_older_version_did_not_send_takes_its_default():
    older = {"question_id": "q1", "text": "It is $500."}
    assert Answer.from_dict(older).audit == Audit()


def test_a_missing_required_field_is_named_and_the_payload_is_kept():
    with pytest.raises(ContractError, match="missing text") as raised:
        Answer.from_dict({"question_id": "q1"})
    assert raised.value.payload == {"question_id": "q1"}


@pytest.mark.parametrize("payload", [None, [], "text", 5])
def test_what_is_no_object_is_no_message(payload):
    with pytest.raises(ContractError):
        Question.from_dict(payload)


def test_a_field_of_the_wrong_type_is_a_typed_error():
    with pytest.raises(ContractError):
        Question.from_dict({"text": "What?", "collection": "handbook", "top_k": "many"})
    with pytest.raises(InvalidRequest):
        Question.from_dict({"text": 5, "collection": "handbook"})


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"text": "  "}, "empty"),
        ({"text": "x" * 8001}, "8001"),
        ({"collection": "Hand Book"}, "Hand Book"),
        ({"collection": "../other"}, r"\.\./other"),
        ({"collection": ""}, "collection"),
        ({"connector": "gpt"}, "gpt"),
        ({"policy": "lax"}, "lax"),
        ({"text": None}, "no text"),
        ({"collection": None}, "collection"),
        ({"asked_at": 100.0, "deadline": 99.0}, "deadline"),
        ({"top_k": 0}, "top_k"),
        ({"min_score": 2.0}, "min_score"),
    ],
)
def test_a_question_that_no_worker_could_answer_is_refused_by_name(changes, named):
    with pytest.raises(InvalidRequest, match=named):
        Question(**{"text": "What?", "collection": "handbook", **changes})


def test_a_question_without_a_deadline_gets_one():
    assert Question(text="What?", collection="handbook").deadline > time.time()


@given(st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=200).filter(str.strip))
def test_any_question_survives_json(text):
    question = Question(text=text, collection="handbook")
    assert Question.from_dict(json.loads(json.dumps(question.to_dict()))) == question


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_any_json_value_is_read_or_refused_with_a_typed_error(payload):
    try:
        Question.from_dict(payload)
    except (ContractError, InvalidRequest):
        return


def test_two_questions_never_share_an_id():
    assert Question(text="a", collection="c").id != Question(text="a", collection="c").id
