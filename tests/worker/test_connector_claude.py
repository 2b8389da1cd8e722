"""Claude is shown passages as citable blocks, and what it cites stays structure; its real SDK, a scripted server."""

from __future__ import annotations

import time

import pytest

from tests.wire import message, send_json, serving
from worker.citations import enforce_citations
from worker.connectors.claude import ClaudeConnector
from worker.errors import ModelBusy, ModelRefused, ModelUnavailable
from worker.prompt import Prompt
from worker.records import Citation, Passage

TEXT = "The collision deductible is $500. It is\nwaived for glass.  Call us within ten days."
PROMPT = Prompt("What is the deductible?", (Passage(name="auto_policy_2024.pdf", text=TEXT, page=2),))


@pytest.fixture
def wire():
    with serving() as wire:
        wire.pages["/v1/models/claude-test"] = {"id": "claude-test", "max_input_tokens": 200_000}
        yield wire


@pytest.fixture
def claude(wire):
    connector = ClaudeConnector(api_key="key", model="claude-test", url=wire.url)
    yield connector
    connector.close()


def complete(connector):
    return connector.complete(PROMPT, max_tokens=50, deadline=time.time() + 20)


def cited(index=0, source="auto_policy_2024.pdf", text="The collision deductible is $500. "):
    return {
        "type": "search_result_location",
        "cited_text": text,
        "search_result_index": index,
        "source": source,
        "title": source,
        "start_block_index": 0,
        "end_block_index": 1,
    }


def test_the_evidence_is_cut_into_citable_sentences_that_joined_are_the_passage(wire, claude):
    wire.say(send_json(message({"type": "text", "text": "It is $500."})))
    complete(claude)
    *results, question = wire.requests[0]["messages"][0]["content"]
    assert question == {"type": "text", "text": "What is the deductible?"}
    assert [(result["type"], result["source"], result["citations"]) for result in results] == [
        ("search_result", "auto_policy_2024.pdf", {"enabled": True})
    ]
    sentences = [block["text"] for block in results[0]["content"]]
    assert "".join(sentences) == TEXT
    assert [sentence.strip() for sentence in sentences] == [
        "The collision deductible is $500.",
        "It is\nwaived for glass.",
        "Call us within ten days.",
    ]


def test_citations_are_kept_as_structure_and_pass_the_check(wire, claude):
    wire.say(send_json(message({"type": "text", "text": "The deductible is $500.", "citations": [cited()]})))
    draft = complete(claude)
    assert draft.citations == (
        Citation(name="auto_policy_2024.pdf", quote="The collision deductible is $500. ", passage=0),
    )
    assert draft.usage == {"prompt_tokens": 40, "completion_tokens": 9}
    verdict = enforce_citations(draft.text, PROMPT.passages, citations=draft.citations)
    assert verdict.sources_line == "Sources: auto_policy_2024.pdf"


def test_a_citation_of_what_was_not_shown_keeps_its_name_for_the_check_and_points_nowhere(wire, claude):
    wire.say(send_json(message({"type": "text", "text": "Yes.", "citations": [cited(7, "other.pdf")]})))
    draft = complete(claude)
    assert (draft.citations[0].name, draft.citations[0].passage) == ("other.pdf", None)
    verdict = enforce_citations(draft.text, PROMPT.passages, citations=draft.citations)
    assert [dropped.string for dropped in verdict.dropped] == ["other.pdf"]


def test_claude_that_declines_is_a_refusal_of_the_model(wire, claude):
    wire.say(send_json(message({"type": "text", "text": ""}, stop="refusal")))
    with pytest.raises(ModelRefused, match="declined"):
        complete(claude)


@pytest.mark.parametrize("stop", ["max_tokens", "model_context_window_exceeded"])
def test_an_answer_that_was_cut_off_is_marked_truncated(wire, claude, stop):
    wire.say(send_json(message({"type": "text", "text": "It is"}, stop=stop)))
    assert complete(claude).truncated


def test_a_block_or_a_field_that_is_new_breaks_nothing(wire, claude):
    wire.say(send_json({**message({"type": "hologram"}, {"type": "text", "text": "It is $500."}), "mood": "good"}))
    assert complete(claude).text == "It is $500."


@pytest.mark.parametrize(
    ("status", "remedy"), [(401, "RAG_CLAUDE_API_KEY"), (402, "billing"), (404, "RAG_CLAUDE_MODEL")]
)
def test_a_refused_call_names_its_remedy(wire, claude, status, remedy):
    wire.say(send_json({}, status=status))
    with pytest.raises(ModelRefused, match=remedy):
        complete(claude)


@pytest.mark.parametrize(("status", "error"), [(529, ModelBusy), (500, ModelUnavailable)])
def test_overload_is_tried_again_and_then_told_as_worth_another_try(wire, claude, status, error):
    wire.say(send_json({}, status=status, headers={"Retry-After": "0"}))
    with pytest.raises(error) as raised:
        complete(claude)
    assert raised.value.retryable
    assert len(wire.requests) == 3


def test_the_settings_alone_say_where_questions_go(wire, monkeypatch):
    with serving() as elsewhere:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", elsewhere.url)
        monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "another-key")
        connector = ClaudeConnector(api_key="key", model="claude-test", url=wire.url)
        wire.say(send_json(message({"type": "text", "text": "It is $500."})))
        complete(connector)
        connector.close()
        assert elsewhere.headers == []
    assert "another-key" not in str(wire.headers)


def test_health_looks_the_model_up_and_sends_nothing(wire, claude):
    health = claude.health()
    assert (health.model, health.context, health.constrained) == ("claude-test", 200_000, False)
    assert wire.headers == []
