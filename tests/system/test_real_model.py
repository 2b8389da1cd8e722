"""The real small model behind the real llama.cpp server: twenty questions, and what became of its answers."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.system.conftest import MODEL, ROOT, clean_environment
from worker.attempts import Asked, Attempts
from worker.connectors.local import LocalConnector
from worker.records import Attempt, Passage
from worker.stopwatch import Stopwatch

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

# What is asked, the figure that answers it ("" where nothing shown does), and the sentence that holds it.
FACTS = [
    ("What is the collision deductible?", "$1,000", "The collision deductible is $1,000 per accident."),
    ("What is the towing limit?", "$75", "Towing is paid up to $75 per breakdown."),
    ("What does a rental car cost at most?", "$40", "A rental car is paid up to $40 a day."),
    ("What is the property damage limit?", "$100,000", "Property damage is covered up to $100,000 per accident."),
    ("What is the HSA limit for self-only coverage?", "$4,300", "The HSA limit is $4,300 for self-only coverage."),
    ("What is the IRA contribution limit?", "$7,000", "The IRA contribution limit is $7,000."),
    ("What is the catch-up contribution?", "$7,500", "The catch-up contribution to a 401(k) plan is $7,500."),
    ("At what age do RMDs begin?", "73", "RMDs begin at age 73."),
    ("What is the full retirement age?", "67", "The full retirement age is 67 for people born in 1960 or later."),
    ("What is the early withdrawal penalty?", "10 percent", "An early withdrawal costs a penalty of 10 percent."),
    ("How large is the employer match?", "4 percent", "The employer match is 4 percent of pay."),
    ("How many months of expenses should be kept?", "six", "A single earner should keep six months of expenses."),
    ("What is the gift tax exclusion?", "$19,000", "The annual gift tax exclusion is $19,000 per person."),
    ("What is the fee of the managed account?", "0.45", "The managed account costs 0.45 percent a year."),
    ("When is the tax filing date?", "April 15", "The tax filing date is April 15."),
    ("What is the rate of the savings bond?", "2.9", "The savings bond pays 2.9 percent."),
    ("What is the deductible for floods in Ohio?", "", "The office is closed on public holidays."),
    ("How much did the company earn in 1998?", "", "Statements are sent by the tenth of each month."),
    ("Who founded the insurance company?", "", "Claims are filed online or by telephone."),
    ("What is the limit of a SIMPLE IRA?", "", "An adviser answers within two working days."),
]
SHOWN = 3
NAMES = [f"handbook_page_{number}.md" for number in range(1, len(FACTS) + 1)]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The server that `python -m worker model` runs."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**clean_environment(), "RAG_MODEL_FILE": str(MODEL), "RAG_MODEL_PORT": str(port)}
    server = subprocess.Popen(
        [sys.executable, "-m", "worker", "model"],
        cwd=ROOT,
        env={**environment, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    yield f"http://127.0.0.1:{port}/v1"
    server.terminate()
    assert server.wait(30) == 0


@pytest.fixture(scope="module")
def local(url: str) -> Iterator[LocalConnector]:
    connector = LocalConnector(url, constrained=True)
    end = time.monotonic() + 120
    while not connector.health().reachable:
        assert time.monotonic() < end
        time.sleep(0.3)
    yield connector
    connector.close()


def shown_for(number: int) -> tuple[Passage, ...]:
    """The page that is asked about, and the two that follow it."""
    chosen = [(number + step) % len(FACTS) for step in range(SHOWN)]
    return tuple(Passage(name=NAMES[index], text=FACTS[index][2]) for index in sorted(chosen))


def answer(local: LocalConnector, number: int) -> Attempt:
    attempts = Attempts({"local": local}, answer_tokens=40, repairs={"local": 1})
    asked = Asked(str(number), FACTS[number][0], shown_for(number), "local", "strict", time.time() + 300)
    return attempts.at(asked, Stopwatch())[0]


def test_the_server_says_what_it_can(local: LocalConnector) -> None:
    health = local.health()
    assert health.reachable
    assert "SmolLM2" in health.model
    assert (health.context, health.constrained) == (4096, True)


def test_twenty_questions_get_no_invented_source_and_no_invented_figure(
    local: LocalConnector, pytestconfig: pytest.Config
) -> None:
    with ThreadPoolExecutor(2) as threads:
        answers = list(threads.map(lambda number: answer(local, number), range(len(FACTS))))
    verdicts = [attempt.verdict for attempt in answers]
    right = [bool(figure) and figure in verdict.text for (_, figure, _), verdict in zip(FACTS, verdicts, strict=True)]
    sourced = [NAMES[number] in {source.name for source in verdicts[number].sources} for number in range(len(FACTS))]
    pytestconfig.get_terminal_writer().line(
        f"\n{len(FACTS)} questions, {sum(bool(fact[1]) for fact in FACTS)} of them answerable: {sum(right)} right, "
        f"{sum(map(all, zip(right, sourced, strict=True)))} of these with the right source, "
        f"{sum(verdict.abstained for verdict in verdicts)} without an answer, "
        f"{sum(bool(verdict.dropped) for verdict in verdicts)} with something thrown out"
    )
    for number, verdict in enumerate(verdicts):
        shown = shown_for(number)
        assert {source.name for source in verdict.sources} <= {passage.name for passage in shown}
        evidence = " ".join(passage.text for passage in shown) + FACTS[number][0]
        assert set(re.findall(r"\d[\d,.]*\d|\d", verdict.text)) <= set(re.findall(r"\d[\d,.]*\d|\d", evidence))
    assert sum(right) >= 5
