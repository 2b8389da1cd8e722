"""A second attempt takes no question past its deadline."""

from __future__ import annotations

import time

from worker.attempts import Asked, Attempts
from worker.connectors.scripted import ScriptedConnector
from worker.records import Passage
from worker.stopwatch import Stopwatch

POLICY = Passage(name="auto_policy_2024.pdf", text="The collision deductible is $500 for each accident.")
WRONG = "The collision deductible is $750 for each accident."


class Timed(ScriptedConnector):
    """A model that takes its time, and remembers how long it was given."""

    def __init__(self, drafts, *, seconds):
        super().__init__(drafts)
        self.seconds = seconds
        self.given = []

    def complete(self, prompt, *, max_tokens, deadline):
        self.given.append(deadline - time.time())
        time.sleep(self.seconds)
        return super().complete(prompt, max_tokens=max_tokens, deadline=deadline)


def attempts(model, *, seconds):
    asked = Asked("1", "What is the deductible?", (POLICY,), "local", "strict", time.time() + seconds)
    flow = Attempts({"local": model}, answer_tokens=50, repairs={"local": 1})
    return flow.at(asked, Stopwatch())[1]


def test_the_check_knows_like_words_where_it_is_told_them():
    def unlike(texts, others):
        return [[0.0] * len(others) for _ in texts]

    def sources(similarity):
        asked = Asked("1", "What is the excess for each accident?", (POLICY,), "local", "strict", time.time() + 60)
        model = ScriptedConnector(["$500\nSources: auto_policy_2024.pdf"])
        flow = Attempts({"local": model}, answer_tokens=50, similarity=similarity)
        return [source.name for source in flow.at(asked, Stopwatch())[0].verdict.sources]

    assert (sources(None), sources(unlike)) == (["auto_policy_2024.pdf"], [])


def test_a_repair_that_would_not_end_in_time_is_not_begun():
    assert len(attempts(Timed([WRONG, POLICY.text], seconds=0.3), seconds=0.5)) == 1


def test_a_repair_gets_at_most_half_of_the_time_that_is_left():
    model = Timed([WRONG, POLICY.text], seconds=0.0)
    assert len(attempts(model, seconds=60)) == 2
    first, second = model.given
    assert second <= first / 2
