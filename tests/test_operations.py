"""Dashboard, alerts and runbook speak of figures that exist, and of all of them."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml

from producer.contract import Answer, Audit, Dropped, Figure, IngestReport
from producer.names import ANSWER_QUEUE, ANSWER_TASK, DEADLINE_ERROR, INGEST_QUEUE
from worker import metrics
from worker.citations import REASONS
from worker.vitals import CollectionState, Vitals

FOLDER = Path(__file__).parent.parent / "examples/operations"
DASHBOARD: dict[str, Any] = json.loads((FOLDER / "grafana-dashboard.json").read_text(encoding="utf-8"))
PANELS: list[dict[str, Any]] = DASHBOARD["panels"]
(GROUP,) = yaml.safe_load((FOLDER / "alerts.yml").read_text(encoding="utf-8"))["groups"]
ALERTS: dict[str, dict[str, Any]] = {rule["alert"]: rule for rule in GROUP["rules"]}
RUNBOOK = (FOLDER / "RUNBOOK.md").read_text(encoding="utf-8")

EXPRESSIONS = [target["expr"] for panel in PANELS for target in panel.get("targets", ())]
EXPRESSIONS += [rule["expr"] for rule in ALERTS.values()]

VITALS = Vitals(
    version="9",
    used_bytes=1,
    limit_bytes=2,
    eviction="noeviction",
    append_only=True,
    persistent=True,
    waiting={ANSWER_QUEUE: 3, INGEST_QUEUE: 0},
    in_flight=1,
    collections={"handbook": CollectionState(1, 2, "f", 3.0)},
)


@pytest.fixture(scope="module")
def served() -> set[str]:
    """The names of all series that a worker serves, also of those that have had no event yet."""
    stop = metrics.serve("127.0.0.1", 0, state=lambda: VITALS)
    families = list(metrics.REGISTRY.collect())
    stop()
    suffixes = {"counter": ["_total"], "histogram": ["_bucket", "_count", "_sum"]}
    return {family.name + suffix for family in families for suffix in suffixes.get(family.type, [""])}


def named(expression: str) -> set[str]:
    return set(re.findall(r"\b(?:rag|process)_\w+", expression))


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_every_figure_that_is_asked_for_is_served(expression: str, served: set[str]):
    assert named(expression) or expression.startswith("up")
    assert named(expression) <= served


def test_every_figure_of_ours_is_on_the_dashboard_or_in_an_alert(served: set[str]):
    asked = set().union(*map(named, EXPRESSIONS))
    ours = {re.sub("_(total|bucket|count|sum)$", "", name) for name in served if name.startswith("rag_")}
    assert {name for name in ours if not any(metric.startswith(name) for metric in asked)} == set()


def test_the_values_of_labels_that_are_asked_for_exist():
    known = {
        "outcome": {"answered", "refused", "failed", "expired", "done"},
        "reason": set(REASONS),
        "queue": {ANSWER_QUEUE, INGEST_QUEUE},
        "stage": {"retrieve", "generate", "check"},
        "job": {"rag"},
    }
    for label, value in re.findall(r'(\w+)="([^"]*)"', " ".join(EXPRESSIONS)):
        assert value in known[label], (label, value)


def test_the_panels_lie_beside_each_other_and_take_their_source_from_the_dashboard():
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
    for one, other in combinations([panel["gridPos"] for panel in PANELS], 2):
        apart = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        assert apart or one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
    sources = {target["datasource"]["uid"] for panel in PANELS for target in panel.get("targets", ())}
    assert sources == {"${datasource}"}
    assert [variable["name"] for variable in DASHBOARD["templating"]["list"]] == ["datasource"]


@pytest.mark.parametrize("name", ALERTS)
def test_every_alert_says_what_it_means_and_the_runbook_says_what_to_do(name: str):
    assert ALERTS[name]["labels"]["severity"] in ("page", "ticket")
    assert ALERTS[name]["annotations"]["summary"]
    section = re.search(rf"^### {name}\n+(.+?)(?=^#)", RUNBOOK, flags=re.S | re.M)
    assert section
    assert len(section[1].split()) > 10


def test_the_runbook_knows_no_alert_that_is_not_there():
    assert set(re.findall(r"^### (\w+)$", RUNBOOK, flags=re.M)) == set(ALERTS)


def value(name: str, **labels: str) -> float:
    return metrics.REGISTRY.get_sample_value(name, labels) or 0.0


def test_a_refusal_counts_with_its_reason_and_what_was_thrown_out():
    before = value("rag_questions_total", outcome="refused"), value("rag_unsupported_figures_total")
    audit = Audit(
        dropped=(Dropped(string="x.pdf", reason="not_shown"),),
        figures=(Figure(string="$1", state="unsupported"), Figure(string="$2", state="verified")),
    )
    metrics.answered(Answer(question_id="1", text="", abstained=True, reason="nothing_supported", audit=audit))
    after = value("rag_questions_total", outcome="refused"), value("rag_unsupported_figures_total")
    assert (after[0] - before[0], after[1] - before[1]) == (1, 1)
    assert value("rag_refusals_total", reason="nothing_supported") >= 1


def test_a_question_that_was_too_late_is_expired_and_no_failure():
    before = value("rag_questions_total", outcome="expired"), value("rag_questions_total", outcome="failed")
    metrics.failed(ANSWER_TASK, DEADLINE_ERROR, question=True)
    metrics.expired()
    after = value("rag_questions_total", outcome="expired"), value("rag_questions_total", outcome="failed")
    assert (after[0] - before[0], after[1] - before[1]) == (2, 0)


def test_an_ingest_counts_its_documents():
    before = value("rag_documents_total", outcome="added"), value("rag_ingests_total", outcome="done")
    metrics.ingested(IngestReport(collection="handbook", added=3, chunks=9, seconds=2.0))
    after = value("rag_documents_total", outcome="added"), value("rag_ingests_total", outcome="done")
    assert (after[0] - before[0], after[1] - before[1]) == (3, 1)


def test_while_redis_is_away_only_that_is_said():
    stop = metrics.serve("127.0.0.1", 0, state=lambda: None)
    assert value("rag_redis_up") == 0.0
    assert metrics.REGISTRY.get_sample_value("rag_redis_used_bytes") is None
    stop()
