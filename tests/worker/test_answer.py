"""A question becomes a checked answer; store, index and embedder are real, only the model's words are scripted."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from tests.wire import completion, message, send_bytes, send_json, serving
from worker.answer import AnswerFlow
from worker.connectors.claude import ClaudeConnector
from worker.connectors.extract import ExtractConnector
from worker.connectors.local import LocalConnector
from worker.connectors.scripted import ScriptedConnector
from worker.drafts import Trace, read_drafts
from worker.errors import (
    Cancelled,
    ConnectorError,
    DeadlineExceeded,
    EmbedderMismatch,
    ModelRefused,
    UnknownCollection,
)
from worker.filters import Filter
from worker.index import Index
from worker.likeness import Likeness
from worker.prompt import NO_ANSWER
from worker.records import Chunk, Draft
from worker.store import Store
from worker.stored import DocumentInfo

DOCUMENTS = {
    "auto_policy_2023.pdf": "The collision deductible is $1,000 for each accident under the 2023 policy.",
    "auto_policy_2024.pdf": "The collision deductible is $500 for each accident under the 2024 policy.",
    "vesting.md": "The employer match vests over five years, one fifth each year.",
}
QUESTION = "What is the collision deductible under the 2024 policy?"


@pytest.fixture
def store(redis_url, embedder):
    store = Store.connect(redis_url)
    store.ensure("handbook", fingerprint=embedder.fingerprint, dimension=embedder.dimension)
    for name, text in DOCUMENTS.items():
        chunk = Chunk(text=text, start=100, end=100 + len(text), page=2)
        info = DocumentInfo(name=name, content_hash=name, state="indexed", chunks=1)
        store.replace("handbook", info, [chunk], embedder.embed_passages([chunk.embedded_text]))
    yield store
    store.close()


@pytest.fixture
def index(store, embedder):
    index = Index(store, device="cpu", fingerprint=embedder.fingerprint)
    yield index
    index.close()


@pytest.fixture
def scripted():
    return ScriptedConnector()


def make_flow(embedder, index, connectors, **options):
    return AnswerFlow(
        embedder=embedder,
        index=index,
        connectors=connectors,
        top_k=3,
        evidence_tokens=1000,
        min_score=embedder.min_score,
        answer_tokens=100,
        similarity=Likeness(embedder),
        **options,
    )


@pytest.fixture
def flow(embedder, index, scripted):
    return make_flow(embedder, index, {"local": scripted})


def ask(flow: AnswerFlow, question: str = QUESTION, **options):
    return flow.answer(question, **{"collection": "handbook", "deadline": time.time() + 60, **options})


def test_an_answer_lists_the_document_that_was_used_and_no_other(flow, scripted):
    scripted.add("The collision deductible is $500 for each accident.\nSources: auto_policy_2024.pdf")
    outcome = ask(flow)
    assert outcome.verdict.text == "The collision deductible is $500 for each accident."
    assert outcome.verdict.sources_line == "Sources: auto_policy_2024.pdf"
    assert {passage.name for passage in outcome.passages} > {"auto_policy_2024.pdf"}


def test_a_document_that_the_model_was_never_shown_is_thrown_out(flow, scripted):
    """The case that this project began with."""
    scripted.add(
        "The collision deductible is $500 for each accident.\n"
        "Sources: auto_policy_2024.pdf, deductible_definition.txt"
    )
    verdict = ask(flow).verdict
    assert verdict.sources_line == "Sources: auto_policy_2024.pdf"
    assert "deductible_definition" not in verdict.text
    assert [dropped.string for dropped in verdict.dropped] == ["deductible_definition.txt"]


def test_a_document_of_the_prompts_own_example_is_no_source(flow, scripted):
    scripted.add("The collision deductible is $500 for each accident.\nSources: cell_biology_notes.txt")
    verdict = ask(flow).verdict
    assert verdict.sources_line == ""
    assert {dropped.string for dropped in verdict.dropped} == {"cell_biology_notes.txt"}


def test_a_refusal_lists_nothing_whatever_the_model_listed(flow, scripted):
    scripted.add(f"{NO_ANSWER}\nSources: auto_policy_2024.pdf, vesting.md")
    outcome = ask(flow)
    assert outcome.verdict.abstained
    assert outcome.reason == "model_abstained"
    assert (outcome.verdict.sources, outcome.verdict.sources_line) == ((), "")


def test_a_question_that_nothing_is_near_to_never_reaches_the_model(flow, scripted):
    outcome = ask(flow, "How do I bake sourdough bread?")
    assert outcome.verdict.abstained
    assert outcome.verdict.text == NO_ANSWER
    assert outcome.reason == "no_evidence"
    assert scripted.prompts == []


def test_a_figure_that_no_document_holds_does_not_reach_the_reader(flow, scripted):
    scripted.add("The collision deductible is $750 for each accident.\nSources: auto_policy_2024.pdf")
    outcome = ask(flow)
    assert "$750" not in outcome.verdict.text
    assert outcome.reason == "nothing_supported"


def test_only_the_best_passages_are_shown_to_the_model(flow, scripted):
    scripted.add(NO_ANSWER)
    ask(flow, top_k=1)
    assert [passage.name for passage in scripted.prompts[0].passages] == ["auto_policy_2024.pdf"]


def test_a_draft_that_hit_the_token_limit_is_marked(flow, scripted):
    scripted.add(Draft(text="The collision deductible is $500", truncated=True))
    assert ask(flow).verdict.truncated


def test_of_an_answer_that_was_cut_off_the_unfinished_sentence_is_left_out(flow, scripted):
    text = "The collision deductible is $500 for each accident. The deductible for glass is"
    scripted.add(Draft(text=text, truncated=True))
    verdict = ask(flow).verdict
    assert verdict.text == "The collision deductible is $500 for each accident."
    assert verdict.truncated


def test_an_answer_that_was_cut_off_in_its_first_sentence_is_none(flow, scripted):
    scripted.add(Draft(text="The collision deductible is", truncated=True))
    outcome = ask(flow)
    assert outcome.verdict.text == NO_ANSWER
    assert (outcome.verdict.truncated, outcome.reason) == (True, "truncated")


def test_a_passage_that_the_model_had_no_room_for_was_not_shown_and_is_no_source(flow, scripted):
    text = "The collision deductible is $500 for each accident.\nSources: auto_policy_2023.pdf"
    scripted.add(Draft(text=text, shown=1))
    outcome = ask(flow)
    assert [passage.name for passage in outcome.passages] == ["auto_policy_2024.pdf"]
    assert [(d.string, d.reason) for d in outcome.verdict.dropped] == [("auto_policy_2023.pdf", "not_shown")]


def test_a_connector_that_is_not_set_up_is_an_error_and_no_other_model_is_asked(flow, scripted):
    scripted.add("never used")
    with pytest.raises(ModelRefused, match="claude"):
        ask(flow, connector="claude")
    assert scripted.prompts == []


def test_a_collection_that_was_never_ingested_is_an_error(flow):
    with pytest.raises(UnknownCollection, match="other"):
        ask(flow, collection="other")


def test_a_collection_that_another_embedder_wrote_is_an_error_and_no_guess(flow, store, embedder, scripted):
    store.ensure("other", fingerprint="another embedder", dimension=embedder.dimension)
    with pytest.raises(EmbedderMismatch, match="rebuild other"):
        ask(flow, collection="other")
    assert scripted.prompts == []


def test_the_model_is_not_asked_after_the_deadline(flow, scripted):
    with pytest.raises(DeadlineExceeded):
        ask(flow, deadline=time.time() - 1)
    assert scripted.prompts == []


def test_every_stage_is_timed(flow, scripted):
    scripted.add(NO_ANSWER)
    assert set(ask(flow).timings) == {"retrieve", "generate", "check"}


# --- repair and fallback -----------------------------------------------------------------------------

GOOD = "The collision deductible is $500 for each accident.\nSources: auto_policy_2024.pdf"
WRONG = "The collision deductible is $750 for each accident.\nSources: auto_policy_2024.pdf"


@pytest.fixture
def repairing(embedder, index, scripted):
    return make_flow(embedder, index, {"local": scripted, "claude": scripted}, repairs={"local": 1})


def test_a_model_whose_answer_lost_something_is_asked_once_more_and_told_what_for(repairing, scripted):
    scripted.add(Draft(text=WRONG, usage={"prompt_tokens": 10}))
    scripted.add(Draft(text=GOOD, usage={"prompt_tokens": 12}))
    outcome = ask(repairing)
    assert outcome.verdict.sources_line == "Sources: auto_policy_2024.pdf"
    assert "number" in scripted.prompts[1].problems[0]
    assert "750" not in str(scripted.prompts[1].messages)
    assert [attempt.verdict.abstained for attempt in outcome.attempts] == [True, False]
    assert outcome.usage == {"prompt_tokens": 22}


def test_the_first_answer_stands_where_the_second_is_no_better(repairing, scripted):
    scripted.add(GOOD + ", invented.pdf")
    scripted.add(WRONG)
    outcome = ask(repairing)
    assert outcome.verdict is outcome.attempts[0].verdict
    assert outcome.verdict.text == "The collision deductible is $500 for each accident."


@pytest.mark.parametrize("text", [GOOD, NO_ANSWER])
def test_an_answer_that_lost_nothing_and_an_honest_refusal_are_not_asked_for_again(repairing, scripted, text):
    scripted.add(text)
    ask(repairing)
    assert len(scripted.prompts) == 1


def test_a_model_that_fails_at_the_second_attempt_takes_nothing_from_the_first(repairing, scripted):
    scripted.add(GOOD + ", invented.pdf")
    outcome = ask(repairing)
    assert len(scripted.prompts) == 2
    assert outcome.verdict.sources_line == "Sources: auto_policy_2024.pdf"


def test_claude_is_paid_once(repairing, scripted):
    scripted.add(WRONG)
    ask(repairing, connector="claude")
    assert len(scripted.prompts) == 1


@pytest.fixture
def falling_back(embedder, index, scripted):
    return make_flow(embedder, index, {"local": scripted, "extract": ExtractConnector(embedder)}, fallback="extract")


def test_a_refused_draft_falls_back_to_the_words_of_the_evidence_and_says_so(falling_back, scripted):
    scripted.add(WRONG)
    outcome = ask(falling_back)
    assert outcome.verdict.text == DOCUMENTS["auto_policy_2024.pdf"]
    assert outcome.verdict.sources_line == "Sources: auto_policy_2024.pdf"
    assert (outcome.connector, outcome.model, outcome.reason) == ("extract", "extract", "")
    assert "fallback" in outcome.verdict.flags


def test_where_the_evidence_holds_no_answer_either_the_refusal_stands(falling_back, scripted):
    scripted.add("The glass deductible is $750.")
    outcome = ask(falling_back, "What is the glass deductible in Ohio?", min_score=-1.0)
    assert (outcome.connector, outcome.reason) == ("local", "nothing_supported")
    assert len(outcome.attempts) == 2


def test_a_model_that_says_itself_that_there_is_no_answer_is_believed(falling_back, scripted):
    scripted.add(NO_ANSWER)
    assert ask(falling_back).reason == "model_abstained"


def test_the_words_of_the_evidence_can_be_asked_for(falling_back, scripted):
    outcome = ask(falling_back, connector="extract")
    assert outcome.verdict.text == DOCUMENTS["auto_policy_2024.pdf"]
    assert scripted.prompts == []


# --- privacy -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [
        send_json({}, status=500),
        send_json({}, status=401),
        send_json({}, status=429, headers={"Retry-After": "0"}),
        send_json(completion(WRONG)),
        send_bytes(b"garbage"),
    ],
)
def test_a_question_for_the_local_model_never_reaches_claude_whatever_fails(embedder, index, fault):
    with serving() as here, serving() as outside:
        here.say(fault)
        outside.say(send_json(message({"type": "text", "text": GOOD})))
        connectors = {
            "local": LocalConnector(f"{here.url}/v1"),
            "claude": ClaudeConnector(api_key="key", model="claude-test", url=outside.url),
        }
        flow = make_flow(embedder, index, connectors, repairs={"local": 1, "claude": 1})
        with suppress(ConnectorError):
            ask(flow, connector="local")
        for connector in connectors.values():
            connector.close()
        assert here.requests
        assert (outside.requests, outside.headers) == ([], [])


def test_a_trace_holds_the_draft_and_is_the_owners_alone(embedder, index, scripted, tmp_path: Path):
    traced = AnswerFlow(
        embedder=embedder,
        index=index,
        connectors={"local": scripted},
        top_k=1,
        evidence_tokens=1000,
        min_score=-1.0,
        answer_tokens=10,
        trace=Trace(tmp_path),
    )
    scripted.add("as the model wrote it")
    ask(traced, id="q1")
    assert read_drafts(tmp_path) == {"q1": ["as the model wrote it"]}
    file = next(tmp_path.iterdir())
    assert file.stat().st_mode & 0o077 == 0
    assert json.loads(file.read_text())["messages"]


def test_the_evidence_is_the_exact_cosine_order(flow, scripted, embedder):
    scripted.add(NO_ANSWER)
    outcome = ask(flow)
    vectors = embedder.embed_passages([passage.text for passage in outcome.passages])
    cosines = vectors @ embedder.embed_query(QUESTION)
    np.testing.assert_allclose([passage.score for passage in outcome.passages], cosines, atol=1e-5)
    assert sorted(cosines, reverse=True) == list(cosines)


# --- conversations, filters, cancelling -------------------------------------------------------------

FOLLOW_UP = "And how long does it take?"
VESTING = (("user", "How does the employer match vest?"), ("assistant", "In ten years."))


def test_a_follow_up_finds_what_the_standalone_question_would(flow, scripted):
    scripted.add("The employer match vests over five years.\nSources: vesting.md")
    outcome = ask(flow, FOLLOW_UP, history=VESTING)
    assert outcome.passages[0].name == "vesting.md"
    assert outcome.verdict.sources_line == "Sources: vesting.md"


def test_a_follow_up_without_its_conversation_finds_nothing(flow, scripted):
    assert ask(flow, FOLLOW_UP).reason == "no_evidence"
    assert scripted.prompts == []


def test_the_model_is_told_the_questions_before_but_no_earlier_answer(flow, scripted):
    scripted.add("The employer match vests over five years.\nSources: vesting.md")
    ask(flow, FOLLOW_UP, history=VESTING)
    (prompt,) = scripted.prompts
    assert "How does the employer match vest?" in prompt.question
    assert "ten years" not in str(prompt.messages)


def test_a_figure_of_an_earlier_answer_is_no_evidence(flow, scripted):
    scripted.add("It takes ten years.\nSources: vesting.md")
    assert "ten" not in ask(flow, FOLLOW_UP, history=VESTING).verdict.text


def test_a_short_answer_to_a_follow_up_keeps_its_source(flow, scripted):
    """It need not speak of the question before."""
    scripted.add("The employer match.\nSources: vesting.md")
    asked_before = (("user", "Is the dental policy a part of my pay in the second year?"),)
    outcome = ask(flow, "And what vests over five years?", history=asked_before)
    assert outcome.verdict.sources_line == "Sources: vesting.md"
    assert "dental policy" in scripted.prompts[0].question


def test_only_documents_that_a_filter_lets_through_are_shown(flow, scripted):
    scripted.add("The collision deductible is $1,000 for each accident.\nSources: auto_policy_2023.pdf")
    outcome = ask(flow, where=Filter(patterns=("auto_*_2023.*",)))
    assert {passage.name for passage in outcome.passages} == {"auto_policy_2023.pdf"}


def test_a_filter_that_lets_nothing_through_is_no_evidence(flow, scripted):
    assert ask(flow, where=Filter(patterns=("*.docx",))).reason == "no_evidence"
    assert scripted.prompts == []


def test_a_question_that_is_cancelled_does_not_cost_a_model_call(flow, scripted):
    with pytest.raises(Cancelled):
        ask(flow, cancelled=lambda: True)
    assert scripted.prompts == []
