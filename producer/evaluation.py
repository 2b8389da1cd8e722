"""Questions with what their answers should hold in, how many do out; the questions go the way that an app's go."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from producer.client import RagClient
from producer.contract import Answer
from producer.errors import InvalidRequest, TaskError

_SEPARATOR = ";"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """A question, and what is expected of its answer; what is not given is not judged."""

    question: str
    documents: tuple[str, ...] = ()
    """Documents that must be among the sources."""
    contains: tuple[str, ...] = ()
    """Words that must stand in the answer's text, whatever their case."""
    abstains: bool = False
    """The documents hold no answer, and it must say so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What became of one question."""

    question: str
    missed: tuple[str, ...] = ()
    """What was expected and is not so, as sentences; () where the answer is as expected."""
    text: str = ""
    sources: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def is_as_expected(self) -> bool:
        """Whether nothing is missed."""
        return not self.missed


def read_expectations(file: Path) -> list[Expectation]:
    """Read a JSON-lines or CSV file; raises InvalidRequest that names the line.

    Fields: `question`; `documents` and `contains`, lists in JSON and separated by `;` in CSV; `abstains`.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidRequest(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{file} cannot be read: it is not UTF-8") from error
    rows = list(_csv(text) if file.suffix.lower() == ".csv" else _json_lines(file, text))
    if not rows:
        raise InvalidRequest(f"{file} holds no question")
    return [_expectation(file, number, row) for number, row in rows]


def evaluate(
    client: RagClient, expectations: list[Expectation], *, collection: str, deadline: float, **options: Any
) -> Iterator[Judgement]:
    """Ask all questions, a few at a time, and judge each answer, in order; raises BrokerUnavailable."""
    texts = [expected.question for expected in expectations]
    tickets = client.ask_many(texts, collection=collection, deadline=deadline, **options)
    for expected, ticket in zip(expectations, tickets, strict=True):
        try:
            yield judge(expected, ticket.get(timeout=deadline))
        except TaskError as error:
            yield Judgement(question=expected.question, missed=(f"no answer: {error.words}",))


def judge(expected: Expectation, answer: Answer) -> Judgement:
    """Compare an answer with what is expected of it."""
    names = tuple(source.name for source in answer.sources)
    missed = [f"{name} is no source" for name in expected.documents if name not in names]
    missed += [
        f"{words!r} is not in the answer"
        for words in expected.contains
        if words.casefold() not in answer.text.casefold()
    ]
    if answer.abstained and not expected.abstains:
        missed.append(f"no answer: {answer.explanation}")
    if expected.abstains and not answer.abstained:
        missed.append("an answer where the documents hold none")
    return Judgement(
        question=expected.question,
        missed=tuple(missed),
        text=answer.text,
        sources=names,
        seconds=sum(answer.timings.values()),
    )


def _csv(text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, row in enumerate(csv.DictReader(text.splitlines()), start=2):
        lists = {name: _split(row.get(name) or "") for name in ("documents", "contains")}
        yield number, {**row, **lists, "abstains": (row.get("abstains") or "").lower() in ("1", "true", "yes")}


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(_SEPARATOR) if part.strip()]


def _json_lines(file: Path, text: str) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except ValueError as error:
                raise InvalidRequest(f"{file}, line {number}: no JSON") from error


def _expectation(file: Path, number: int, row: Any) -> Expectation:
    if not isinstance(row, Mapping) or not isinstance(row.get("question"), str) or not row["question"].strip():
        raise InvalidRequest(f"{file}, line {number}: it has no question")
    lists = {name: row.get(name) or [] for name in ("documents", "contains")}
    for name, values in lists.items():
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise InvalidRequest(f"{file}, line {number}: {name} is no list of texts")
    return Expectation(
        question=row["question"],
        documents=tuple(lists["documents"]),
        contains=tuple(lists["contains"]),
        abstains=bool(row.get("abstains")),
    )
