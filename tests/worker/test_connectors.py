"""A connector turns a prompt into a draft, and every fault of the wire into one typed error that names no secret."""

from __future__ import annotations

import socket
import time

import pytest

from tests.wire import completion, send_bytes, send_json, serving
from worker.connectors.claude import ClaudeConnector
from worker.connectors.local import LocalConnector
from worker.connectors.scripted import ScriptedConnector
from worker.errors import (
    ConnectorError,
    DeadlineExceeded,
    ModelAnswerInvalid,
    ModelBusy,
    ModelRefused,
    ModelUnavailable,
)
from worker.prompt import Prompt
from worker.records import Citation, Draft, Passage

KEY = "key-that-must-not-be-shown"
PROMPT = Prompt(
    "What is the deductible?",
    (Passage(name="auto_policy_2024.pdf", text="The collision deductible is $500.", page=2),),
)


@pytest.fixture
def wire():
    with serving() as wire:
        yield wire


@pytest.fixture
def local(wire):
    connector = LocalConnector(wire.url + "/v1", api_key=KEY)
    yield connector
    connector.close()


@pytest.fixture
def claude(wire):
    connector = ClaudeConnector(api_key=KEY, model="claude-test", url=wire.url)
    yield connector
    connector.close()


def complete(connector, *, seconds=20.0):
    return connector.complete(PROMPT, max_tokens=50, deadline=time.time() + seconds)


# --- local -----------------------------------------------------------------------------------------


def test_the_local_model_is_asked_with_the_evidence_and_gives_a_draft(wire, local):
    wire.say(send_json(completion("It is $500.\nSources: auto_policy_2024.pdf")))
    draft = complete(local)
    assert draft.text.startswith("It is $500.")
    assert (draft.model, draft.truncated) == ("tiny", False)
    assert draft.usage == {"prompt_tokens": 11, "completion_tokens": 7}
    asked = wire.requests[0]
    assert asked["model"] == "tiny"
    assert asked["max_tokens"] == 50
    assert "The collision deductible is $500." in asked["messages"][-1]["content"]


def test_an_answer_that_hit_the_token_limit_is_marked_truncated(wire, local):
    wire.say(send_json(completion("It is", finish="length")))
    assert complete(local).truncated


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (send_json({}, status=429), ModelBusy),
        (send_json({}, status=503), ModelBusy),
        (send_json({}, status=500), ModelUnavailable),
        (send_json({}, status=401), ModelRefused),
        (send_json({}, status=404), ModelRefused),
        (send_bytes(b"not json"), ModelAnswerInvalid),
        (send_bytes(b"\xff\xfe\x00garbage"), ModelAnswerInvalid),
        (send_json([]), ModelAnswerInvalid),
        (send_json({"choices": []}), ModelAnswerInvalid),
        (send_json({"choices": [{"message": None}]}), ModelAnswerInvalid),
        (send_bytes(b'{"choices"', promised=5_000), ModelUnavailable),
        (send_bytes(b"x" * 10_000_000), ModelAnswerInvalid),
    ],
)
def test_a_fault_of_the_local_wire_is_one_typed_error(wire, local, reply, error):
    wire.say(reply)
    with pytest.raises(error) as raised:
        complete(local)
    assert KEY not in str(raised.value)


def test_an_empty_answer_is_an_empty_draft(wire, local):
    wire.say(send_json(completion("")))
    assert complete(local).text == ""


def test_a_model_that_answers_too_late_is_given_up_at_the_deadline(wire, local):
    def never(handler):
        time.sleep(3)

    wire.say(never)
    with pytest.raises((ModelUnavailable, DeadlineExceeded)):
        complete(local, seconds=0.5)


def test_a_server_that_drips_is_given_up_at_the_deadline(wire, local):
    def drip(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        for _ in range(12):
            handler.wfile.write(b" ")
            handler.wfile.flush()
            time.sleep(0.2)

    wire.say(drip)
    with pytest.raises(DeadlineExceeded):
        complete(local, seconds=0.7)


def test_no_call_is_made_after_the_deadline(wire, local):
    with pytest.raises(DeadlineExceeded):
        complete(local, seconds=-1)
    assert wire.requests == []


def test_a_server_that_is_not_there_is_unavailable_and_worth_another_try():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    connector = LocalConnector(f"http://127.0.0.1:{port}/v1", model="tiny")
    with pytest.raises(ModelUnavailable) as raised:
        complete(connector)
    assert raised.value.retryable
    connector.close()


# --- claude ----------------------------------------------------------------------------------------


def message(*blocks, stop="end_turn"):
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-test",
        "content": list(blocks),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 40, "output_tokens": 9},
    }


def cited(index=0, source="auto_policy_2024.pdf", text="The collision deductible is $500."):
    return {
        "type": "search_result_location",
        "cited_text": text,
        "search_result_index": index,
        "source": source,
        "title": source,
        "start_block_index": 0,
        "end_block_index": 1,
    }


def test_claude_is_shown_the_evidence_as_citable_blocks_and_its_citations_are_kept_as_structure(wire, claude):
    wire.say(send_json(message({"type": "text", "text": "It is $500.", "citations": [cited()]})))
    draft = complete(claude)
    assert draft.text == "It is $500."
    assert draft.citations == (
        Citation(name="auto_policy_2024.pdf", quote="The collision deductible is $500.", passage=0),
    )
    assert draft.usage == {"prompt_tokens": 40, "completion_tokens": 9}
    block = wire.requests[0]["messages"][0]["content"][0]
    assert (block["type"], block["source"]) == ("search_result", "auto_policy_2024.pdf")
    assert block["citations"] == {"enabled": True}


def test_a_citation_of_what_was_not_shown_keeps_its_name_for_the_check_and_points_nowhere(wire, claude):
    wire.say(send_json(message({"type": "text", "text": "Yes.", "citations": [cited(7, "other.pdf")]})))
    assert complete(claude).citations[0] == Citation(
        name="other.pdf", quote="The collision deductible is $500.", passage=None
    )


def test_claude_that_declines_is_a_refusal_of_the_model(wire, claude):
    wire.say(send_json(message({"type": "text", "text": ""}, stop="refusal")))
    with pytest.raises(ModelRefused):
        complete(claude)


@pytest.mark.parametrize(
    ("status", "error"),
    [(400, ModelRefused), (401, ModelRefused), (402, ModelRefused), (404, ModelRefused)],
)
def test_a_fault_that_no_retry_mends_is_told_at_once(wire, claude, status, error):
    wire.say(send_json({"type": "error", "error": {"type": "x", "message": KEY}}, status=status))
    with pytest.raises(error) as raised:
        complete(claude)
    assert KEY not in str(raised.value)
    assert len(wire.requests) == 1


@pytest.mark.parametrize(("status", "error"), [(429, ModelBusy), (529, ModelBusy), (500, ModelUnavailable)])
def test_overload_is_tried_again_and_then_told_as_worth_another_try(wire, claude, status, error):
    wire.say(send_json({"type": "error", "error": {"type": "x", "message": KEY}}, status=status))
    with pytest.raises(error) as raised:
        complete(claude)
    assert raised.value.retryable
    assert KEY not in str(raised.value)
    assert len(wire.requests) > 1


# --- scripted --------------------------------------------------------------------------------------


def test_the_scripted_model_answers_in_order_and_remembers_what_it_was_asked():
    scripted = ScriptedConnector(["one", Draft(text="two", truncated=True)])
    assert complete(scripted).text == "one"
    assert complete(scripted).truncated
    assert scripted.prompts == [PROMPT, PROMPT]
    with pytest.raises(ConnectorError):
        complete(scripted)
