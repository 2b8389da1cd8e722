"""Asks 32 questions at once through the local connector, and puts the same prompts to the same server without it.

Needs a model server: the one that `RAG_LOCAL_URL` names, or the demo's own model (`make models`), which it starts.
The two take turns, so that other work on the machine meets both; `overhead` is the median of the rounds' ratios.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from benchmarks.fabrication import model_url
from benchmarks.tabulating import show, write
from worker.connectors.local import LocalConnector
from worker.prompt import Prompt
from worker.records import Passage

_QUESTIONS = 32
_IN_FLIGHT = 8
_ANSWER_TOKENS = 16
_SECONDS = 600.0
_PROMPTS = [
    Prompt(
        f"What is the limit of plan {n}?", (Passage(name=f"plan_{n}.md", text=f"The limit of plan {n} is ${n}00."),)
    )
    for n in range(_QUESTIONS)
]


def timed(ask: Callable[[Prompt], object], threads: int) -> float:
    """Return the seconds until all prompts are answered."""
    start = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(ask, _PROMPTS))
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with model_url() as url, httpx.Client(timeout=_SECONDS, trust_env=False) as client:
        connector = LocalConnector(url, in_flight=_IN_FLIGHT)

        def through(prompt: Prompt) -> object:
            return connector.complete(prompt, max_tokens=_ANSWER_TOKENS, deadline=time.time() + _SECONDS)

        def directly(prompt: Prompt) -> object:
            body = {"messages": prompt.messages, "stop": prompt.stop, "max_tokens": _ANSWER_TOKENS, "temperature": 0}
            return client.post(f"{url}/chat/completions", json=body).raise_for_status().json()

        timed(through, _QUESTIONS)
        rounds = [(timed(through, _QUESTIONS), timed(directly, _IN_FLIGHT)) for _ in range(arguments.rounds)]
        connector.close()
    figures = {
        "connector_seconds": statistics.median(own for own, _ in rounds),
        "server_seconds": statistics.median(bare for _, bare in rounds),
        "overhead": statistics.median(own / bare for own, bare in rounds),
    }
    show(f"{_QUESTIONS} questions at once, {_IN_FLIGHT} in flight", ("figure", "value"), list(figures.items()))
    write(figures, arguments.json)


if __name__ == "__main__":
    main()
