"""Who may touch which collection: a grant holds for what it says, until its day, for what its holder wrote."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from producer.contract import Question
from producer.grants import Grant
from producer.names import ANSWER_TASK, DELETE_TASK, DOCUMENTS_TASK, INGEST_TASK, UPLOAD_TASK
from worker.access import Access, Right
from worker.errors import AccessDenied, SettingError

SECRET, OTHER = "s" * 32, "o" * 32
ACCESS = Access([SECRET])
HANDBOOK = ACCESS.issue("runway", ["handbook"], may=[Right.ASK])
MESSAGE = Question(text="What is the deductible?", collection="handbook", id="q-1", min_score=0.1).to_dict()
ON_THE_WIRE = json.loads(json.dumps(MESSAGE))


def allowed(access: Access, task: str, message: dict[str, Any], signed: object, id: str = "q-1") -> bool:
    try:
        access.require(task, id, message, signed)
    except AccessDenied:
        return False
    return True


def test_a_grant_holds_for_its_collection_on_the_other_side_of_the_wire():
    assert allowed(ACCESS, ANSWER_TASK, ON_THE_WIRE, HANDBOOK.sign(ANSWER_TASK, MESSAGE))


def test_without_a_secret_everybody_is_served_and_no_grant_is_issued():
    assert allowed(Access(()), ANSWER_TASK, ON_THE_WIRE, None)
    with pytest.raises(SettingError, match="RAG_ACCESS_SECRET"):
        Access(()).issue("runway", ["handbook"], may=["ask"])


@pytest.mark.parametrize(
    "signed", [None, {}, [], "signed", 7, {"words": None}, {"words": "é", "signature": "\ud800"}]
)
def test_what_is_not_signed_is_refused(signed: object):
    assert not allowed(ACCESS, ANSWER_TASK, ON_THE_WIRE, signed)


@given(st.sampled_from(sorted(MESSAGE)), st.text() | st.integers() | st.none() | st.lists(st.text()))
def test_nobody_changes_anything_in_a_signed_message(name: str, value: object):
    changed = {**ON_THE_WIRE, name: value}
    assert allowed(ACCESS, ANSWER_TASK, changed, HANDBOOK.sign(ANSWER_TASK, MESSAGE)) == (changed == ON_THE_WIRE)


def test_a_signed_message_is_good_for_its_own_task_and_its_own_id_alone():
    signed = HANDBOOK.sign(ANSWER_TASK, MESSAGE)
    assert not allowed(ACCESS, DOCUMENTS_TASK, ON_THE_WIRE, signed)
    assert not allowed(ACCESS, ANSWER_TASK, ON_THE_WIRE, signed, id="mine")


def test_an_app_that_widens_its_own_grant_is_refused():
    said = {"app": "runway", "collections": ["*"], "may": list(Right), "until": None}
    wider = Grant(base64.urlsafe_b64encode(json.dumps(said).encode()).decode(), HANDBOOK.key)
    assert not allowed(ACCESS, ANSWER_TASK, ON_THE_WIRE, wider.sign(ANSWER_TASK, MESSAGE))


@pytest.mark.parametrize(
    ("pattern", "collection", "holds"),
    [
        ("handbook", "handbook", True),
        ("handbook", "handbook-2", False),
        ("clients-*", "clients-7", True),
        ("clients-*", "client", False),
        ("*", "anything", True),
    ],
)
def test_a_grant_names_collections_or_how_they_begin(pattern: str, collection: str, holds: bool):
    message = {**MESSAGE, "collection": collection}
    grant = ACCESS.issue("runway", ["another", pattern], may=["ask"])
    assert allowed(ACCESS, ANSWER_TASK, message, grant.sign(ANSWER_TASK, message)) is holds


@pytest.mark.parametrize("pattern", ["", "Hand", "a b", "*x", "h?", "[a-z]*"])
def test_no_grant_is_issued_for_what_is_no_name(pattern: str):
    with pytest.raises(SettingError, match="no collection"):
        ACCESS.issue("runway", [pattern], may=["ask"])


@pytest.mark.parametrize(
    ("right", "tasks"),
    [
        (Right.ASK, {ANSWER_TASK, DOCUMENTS_TASK}),
        (Right.WRITE, {UPLOAD_TASK, DELETE_TASK}),
        (Right.FOLDERS, {INGEST_TASK}),
    ],
)
def test_a_right_allows_its_own_tasks_alone(right: Right, tasks: set[str]):
    grant = ACCESS.issue("runway", ["handbook"], may=[right])
    every = (ANSWER_TASK, DOCUMENTS_TASK, UPLOAD_TASK, DELETE_TASK, INGEST_TASK)
    assert {task for task in every if allowed(ACCESS, task, ON_THE_WIRE, grant.sign(task, MESSAGE))} == tasks


def test_a_grant_ends_on_its_day():
    for seconds, holds in ((60, True), (-1, False)):
        grant = ACCESS.issue("runway", ["handbook"], may=["ask"], until=time.time() + seconds)
        assert allowed(ACCESS, ANSWER_TASK, ON_THE_WIRE, grant.sign(ANSWER_TASK, MESSAGE)) is holds


def test_a_secret_is_replaced_while_both_are_known_and_ends_its_grants_when_it_goes():
    signed = HANDBOOK.sign(ANSWER_TASK, MESSAGE)
    assert allowed(Access([OTHER, SECRET]), ANSWER_TASK, ON_THE_WIRE, signed)
    assert not allowed(Access([OTHER]), ANSWER_TASK, ON_THE_WIRE, signed)


def test_the_refusal_names_what_is_missing_and_neither_the_question_nor_a_key():
    message = {**MESSAGE, "collection": "clients-7"}
    with pytest.raises(AccessDenied) as raised:
        ACCESS.require(ANSWER_TASK, "q-1", message, HANDBOOK.sign(ANSWER_TASK, message))
    assert "runway" in str(raised.value)
    assert "deductible" not in str(raised.value)
    assert SECRET not in repr(HANDBOOK)
    assert str(HANDBOOK).rpartition(".")[2] not in repr(HANDBOOK)


def test_a_grant_is_read_as_it_is_printed_and_nothing_else_is_one():
    assert Grant.of(f" {HANDBOOK}\n") == HANDBOOK
    for text in ("", "x", "words.", ".key", f"{HANDBOOK}"[:-8], "words.ключ"):
        with pytest.raises(ValueError, match="no grant"):
            Grant.of(text)
