"""The Celery edge tells every error in words that are ours, and every verdict in the contract's terms."""

from __future__ import annotations

import json
import logging
from datetime import date

import pytest

from producer.contract import Answer, Filters, Question
from producer.errors import InvalidRequest
from producer.names import CANCELLED_ERROR, DEADLINE_ERROR, FAILURE_TYPE
from worker.citations import enforce_citations
from worker.errors import Cancelled, DeadlineExceeded, ModelUnavailable, WorkerError
from worker.filters import Filter
from worker.records import Attempt, Outcome, Passage
from worker.tasks import TaskFailure, _told_as_failure
from worker.translation import answer_of, filter_of

CANARY = "Avery Canary's account"


def told(error: BaseException) -> tuple[str, str, bool]:
    with pytest.raises(TaskFailure) as raised, _told_as_failure():
        raise error
    return raised.value.args


def test_the_names_that_both_halves_rely_on_are_the_classes_own():
    assert TaskFailure.__name__ == FAILURE_TYPE
    assert DeadlineExceeded.__name__ == DEADLINE_ERROR
    assert Cancelled.__name__ == CANCELLED_ERROR


def test_a_foreseen_error_keeps_its_type_its_words_and_whether_to_try_again():
    assert told(ModelUnavailable("no answer from the model server")) == (
        "ModelUnavailable",
        "no answer from the model server",
        True,
    )
    assert told(InvalidRequest("the question is empty"))[0] == "InvalidRequest"


def test_an_unforeseen_error_tells_its_type_and_none_of_its_words(caplog):
    with caplog.at_level(logging.DEBUG):
        error, reason, retryable = told(ValueError(CANARY))
    assert (error, retryable) == ("InternalError", False)
    assert "ValueError" in reason
    assert "ValueError" in caplog.text
    assert CANARY not in reason + caplog.text


def raise_with_a_cause() -> None:
    try:
        raise ValueError(CANARY)
    except ValueError as cause:
        raise WorkerError("it could not be done") from cause


def test_what_an_error_was_raised_from_is_not_told_either():
    with pytest.raises(TaskFailure) as raised, _told_as_failure():
        raise_with_a_cause()
    assert raised.value.__suppress_context__
    assert raised.value.__cause__ is None


def test_a_quotes_offsets_are_moved_from_the_passage_to_the_document():
    text = "It is a plan. The collision deductible is $500."
    passage = Passage(
        name="auto.pdf", text=text, page=3, heading=("Auto",), start=1000, score=0.7, also_in=("b.pdf",)
    )
    verdict = enforce_citations("The collision deductible is $500.\nSources: auto.pdf", [passage])
    question = Question(text="What?", collection="c")
    answer = answer_of(question, Outcome(verdict, (passage,), model="tiny"), queued=-0.1)
    (source,) = answer.sources
    assert text[source.start - 1000 : source.end - 1000] == source.quote == "The collision deductible is $500."
    assert (source.page, source.heading, source.also_in) == (3, ("Auto",), ("b.pdf",))
    assert answer.timings["queue"] == 0.0


def test_an_answer_with_its_whole_audit_survives_the_wire():
    passage = Passage(name="auto.pdf", text="The collision deductible is $500.", score=0.7)
    draft = "The collision deductible is $500 [1]. The premium is $9,999 [7].\nSources: auto.pdf, invented.txt"
    verdict = enforce_citations(draft, [passage], policy="flag")
    answer = answer_of(Question(text="What?", collection="c"), Outcome(verdict, (passage,)), queued=0.2)
    assert answer.audit.dropped
    assert answer.audit.figures
    assert answer.audit.sentences
    assert Answer.from_dict(json.loads(json.dumps(answer.to_dict()))) == answer


def test_where_the_model_was_asked_twice_both_verdicts_are_in_the_audit_and_the_chosen_one_is_marked():
    shown = (Passage(name="auto.pdf", text="The collision deductible is $500."),)
    verdicts = [enforce_citations(f"The collision deductible is {sum_}.", shown) for sum_ in ("$750", "$500")]
    attempts = tuple(Attempt(verdict, "local", shown, "tiny") for verdict in verdicts)
    outcome = Outcome(verdicts[1], shown, connector="local", model="tiny", attempts=attempts)
    told = Answer.from_dict(
        json.loads(json.dumps(answer_of(Question(text="?", collection="c"), outcome, queued=0).to_dict()))
    )
    assert [(attempt.abstained, attempt.chosen) for attempt in told.audit.attempts] == [(True, False), (False, True)]


def test_an_answer_that_another_connector_gave_names_it():
    shown = (Passage(name="auto.pdf", text="The collision deductible is $500."),)
    outcome = Outcome(enforce_citations(shown[0].text, shown), shown, connector="extract", model="extract")
    assert answer_of(Question(text="?", collection="c"), outcome, queued=0).connector == "extract"


def test_the_conditions_of_a_question_become_the_indexs_filter():
    filters = Filters(names="a*", folder="taxes", modified_from=1.5, modified_until=date(1970, 1, 2), tags=["x"])
    expected = Filter(
        patterns=("a*",),
        folder="taxes",
        modified_from_ns=1_500_000_000,
        modified_until_ns=86_400 * 10**9,
        tags=frozenset({"x"}),
    )
    assert filter_of(filters) == expected
    assert filter_of(None) is None


def test_a_source_that_was_thrown_out_comes_with_its_reason_in_words():
    passage = Passage(name="auto.pdf", text="The collision deductible is $500.", score=0.7)
    verdict = enforce_citations("The collision deductible is $500.\nSources: auto.pdf, invented.txt", [passage])
    answer = answer_of(Question(text="What?", collection="c"), Outcome(verdict, (passage,)), queued=0.2)
    assert all(" " in dropped.explanation for dropped in answer.audit.dropped)
