"""The local model's server is asked with what it has room for, in the way that it can, and nobody else is."""

from __future__ import annotations

import json
import time

import pytest

from tests.wire import completion, send_bytes, send_json, serving
from worker.citations import enforce_citations
from worker.connectors.local import LocalConnector
from worker.errors import ModelRefused
from worker.prompt import Prompt
from worker.records import Citation, Passage

POLICY = Passage(name="auto_policy_2024.pdf", text="The collision deductible is $500.", page=2)
PROMPT = Prompt("What is the deductible?", (POLICY,))
LONG = tuple(
    Passage(name=f"{number}.md", text=f"Passage {number}. " + "Words of no use. " * 40) for number in range(4)
)


@pytest.fixture
def wire():
    with serving() as wire:
        wire.say(send_json(completion("It is $500.\nSources: auto_policy_2024.pdf")))
        yield wire


@pytest.fixture
def connect(wire):
    opened = []

    def connect(**options):
        opened.append(LocalConnector(f"{wire.url}/v1", **options))
        return opened[-1]

    yield connect
    for connector in opened:
        connector.close()


def complete(connector, prompt=PROMPT, *, max_tokens=50):
    return connector.complete(prompt, max_tokens=max_tokens, deadline=time.time() + 20)


def test_the_model_is_asked_with_the_evidence(wire, connect):
    draft = complete(connect())
    assert (draft.model, draft.truncated, draft.shown) == ("tiny", False, 1)
    assert draft.usage == {"prompt_tokens": 11, "completion_tokens": 7}
    asked = wire.requests[0]
    assert (asked["model"], asked["max_tokens"], asked["temperature"]) == ("tiny", 50, 0)
    assert POLICY.text in asked["messages"][-1]["content"]


def test_an_answer_that_hit_the_token_limit_is_marked_truncated(wire, connect):
    wire.say(send_json(completion("It is", finish="length")))
    assert complete(connect()).truncated


def test_a_server_that_serves_another_model_by_now_is_asked_anew(wire, connect):
    connector = connect()
    complete(connector)
    wire.pages["/v1/models"] = {"data": [{"id": "other"}]}
    wire.say(send_json({}, status=404))
    with pytest.raises(ModelRefused):
        complete(connector)
    wire.say(send_json(completion("It is $500.")))
    complete(connector)
    assert wire.requests[-1]["model"] == "other"


def test_a_question_goes_to_no_proxy_and_follows_no_redirect(wire, connect, monkeypatch):
    with serving() as elsewhere:
        monkeypatch.setenv("HTTP_PROXY", elsewhere.url)
        monkeypatch.setenv("ALL_PROXY", elsewhere.url)
        wire.say(send_json({}, status=307, headers={"Location": f"{elsewhere.url}/v1/chat/completions"}))
        with pytest.raises(ModelRefused):
            complete(connect())
        assert elsewhere.requests == []
    assert len(wire.requests) == 1


def test_a_half_of_a_surrogate_pair_in_a_question_is_no_stumbling_block(wire, connect):
    complete(connect(), Prompt("What is \ud800?", (POLICY,)))
    assert "\ud800" in wire.requests[0]["messages"][-1]["content"]


# --- reasoning -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        "<think>The user wants $900.</think>The collision deductible is $500.\nSources: auto_policy_2024.pdf",
        "The user wants $900.</think>\n\nThe collision deductible is $500.\nSources: auto_policy_2024.pdf",
        "The collision deductible is $500.\nSources: auto_policy_2024.pdf\n<think>Or was it $900",
        "<|im_start|>assistant\nThe collision deductible is $500.\nSources: auto_policy_2024.pdf<|im_end|>",
    ],
)
def test_what_a_model_thought_is_no_part_of_its_answer(wire, connect, content):
    wire.say(send_json(completion(content)))
    verdict = enforce_citations(complete(connect()).text, PROMPT.passages, question=PROMPT.question)
    assert verdict.text == "The collision deductible is $500."
    assert verdict.sources_line == "Sources: auto_policy_2024.pdf"


def test_thoughts_that_a_server_keeps_apart_are_not_read(wire, connect):
    answer = completion("It is $500.")
    answer["choices"][0]["message"]["reasoning_content"] = "The user wants $900."
    wire.say(send_json(answer))
    assert complete(connect()).text == "It is $500."


def test_a_model_that_thought_until_its_tokens_ran_out_gave_a_truncated_empty_answer(wire, connect):
    answer = completion("", finish="length")
    answer["choices"][0]["message"] |= {"content": None, "reasoning_content": "Let me see"}
    wire.say(send_json(answer))
    draft = complete(connect())
    assert (draft.text, draft.truncated) == ("", True)


# --- room ------------------------------------------------------------------------------------------


def names_shown(wire):
    content = wire.requests[-1]["messages"][-1]["content"]
    return [line.removeprefix("Document: ") for line in content.splitlines() if line.startswith("Document: ")]


@pytest.mark.parametrize(
    "listed", [{"max_model_len": 1300}, {"meta": {"n_ctx": 1300}}], ids=["as vLLM says", "as llama.cpp says"]
)
def test_the_least_relevant_passages_are_left_out_whole_where_the_context_has_no_room(wire, connect, listed):
    wire.pages["/v1/models"] = {"data": [{"id": "tiny", **listed}]}
    draft = complete(connect(), Prompt("What?", LONG))
    assert 0 < draft.shown < len(LONG)
    assert names_shown(wire) == [passage.name for passage in LONG[: draft.shown]]


def test_an_older_server_says_its_context_in_its_properties(wire, connect):
    wire.pages["/props"] = {"default_generation_settings": {"n_ctx": 1300}}
    assert complete(connect(), Prompt("What?", LONG)).shown < len(LONG)


def test_a_context_that_the_operator_names_comes_before_what_the_server_says(wire, connect):
    wire.pages["/v1/models"] = {"data": [{"id": "tiny", "max_model_len": 1300}]}
    assert complete(connect(context=100_000), Prompt("What?", LONG)).shown == len(LONG)


@pytest.mark.parametrize("counted", [{"count": 100}, {"tokens": [1] * 100}], ids=["as vLLM", "as llama.cpp"])
def test_the_servers_own_count_of_tokens_decides(wire, connect, counted):
    wire.pages["/v1/models"] = {"data": [{"id": "tiny", "max_model_len": 1300}]}
    wire.pages["/tokenize"] = counted
    assert complete(connect(), Prompt("What?", LONG)).shown == len(LONG)


def test_a_context_without_room_for_one_passage_is_refused_with_the_remedy(wire, connect):
    with pytest.raises(ModelRefused, match="RAG_ANSWER_TOKENS"):
        complete(connect(context=200), Prompt("What?", LONG))
    assert wire.requests == []


# --- constrained decoding --------------------------------------------------------------------------


def structured(answer, *sources, **options):
    return send_json(completion(json.dumps({"answer": answer, "sources": sources}), **options))


def test_a_server_that_can_is_held_to_the_names_that_were_shown(wire, connect):
    wire.constrains = True
    wire.say(structured("It is $500.", "auto_policy_2024.pdf"))
    draft = complete(connect(constrained=True))
    assert draft.text == "It is $500."
    assert draft.citations == (Citation(name="auto_policy_2024.pdf"),)
    schema = wire.requests[0]["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["sources"]["items"]["enum"] == ["auto_policy_2024.pdf"]
    assert list(schema["properties"]) == ["answer", "sources"]


@pytest.mark.parametrize("refusal", [None, send_json({}, status=400), send_json({}, status=500), send_bytes(b"?")])
def test_a_server_that_cannot_is_asked_for_text(wire, connect, refusal):
    if refusal:
        wire.probe = refusal
    draft = complete(connect(constrained=True))
    assert draft.text.startswith("It is $500.")
    assert "response_format" not in wire.requests[0]


def test_whether_a_server_can_is_found_out_once(wire, connect):
    wire.constrains = True
    wire.say(structured("It is $500.", "auto_policy_2024.pdf"))
    connector = connect(constrained=True)
    for _ in range(3):
        complete(connector)
    assert len(wire.headers) == 4


def test_an_object_that_was_cut_off_gives_what_was_written_of_the_answer(wire, connect):
    wire.constrains = True
    wire.say(send_json(completion('{"answer": "The collision deductible is $500. The full ret', finish="length")))
    draft = complete(connect(constrained=True))
    assert draft.text == "The collision deductible is $500. The full ret"
    assert draft.truncated


def test_health_tells_model_context_and_constrained_decoding(wire, connect):
    wire.constrains = True
    wire.pages["/v1/models"] = {"data": [{"id": "tiny", "max_model_len": 1300}]}
    health = connect().health()
    assert (health.model, health.context, health.constrained) == ("tiny", 1300, True)
    assert str(health) == "tiny, 1300 tokens, constrained decoding yes"
