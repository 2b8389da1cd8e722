"""What holds for every connector: a draft out of a prompt, and each fault of the wire as one typed error.

One suite over all of them; the ones that speak HTTP, against a server that fails in every way that servers do. Claude
is its real SDK.
"""

from __future__ import annotations

import json
import logging
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.wire import completion, message, send_bytes, send_json, serving
from worker.connectors.claude import ClaudeConnector
from worker.connectors.extract import ExtractConnector
from worker.connectors.local import LocalConnector
from worker.connectors.scripted import ScriptedConnector
from worker.errors import (
    ConnectorError,
    DeadlineExceeded,
    ModelAnswerInvalid,
    ModelBusy,
    ModelRefused,
    ModelUnavailable,
    ModelUnreachable,
)
from worker.prompt import Prompt
from worker.records import Draft, Passage

KEY = "key-that-must-not-be-shown"
SECRET = "the 4711"
PROMPT = Prompt(
    f"What is the collision deductible? ({SECRET})",
    (Passage(name="auto_policy_2024.pdf", text="The collision deductible is $500.", page=2),),
)
ANSWER = "The collision deductible is $500."
OVER_HTTP = ("local", "constrained", "claude")
EVERY = (*OVER_HTTP, "extract", "scripted")
# A server that asks for no wait: the tests of what is tried again need not wait either.
AT_ONCE = {"Retry-After": "0"}


def build(name, url, request):
    if name == "claude":
        return ClaudeConnector(api_key=KEY, model="claude-test", url=url, in_flight=4)
    if name == "extract":
        return ExtractConnector(request.getfixturevalue("embedder"))
    if name == "scripted":
        return ScriptedConnector([ANSWER])
    return LocalConnector(f"{url}/v1", api_key=KEY, constrained=name == "constrained", in_flight=4)


def said(name, text):
    """An answer as the server of this connector sends it."""
    if name == "claude":
        return send_json(message({"type": "text", "text": text}))
    sources = ["auto_policy_2024.pdf"]
    return send_json(completion(json.dumps({"answer": text, "sources": sources}) if name == "constrained" else text))


@pytest.fixture
def wire():
    with serving() as wire:
        wire.constrains = True
        wire.pages["/v1/models/claude-test"] = {"id": "claude-test", "max_input_tokens": 200_000}
        yield wire


@pytest.fixture(params=OVER_HTTP)
def name(request):
    return request.param


@pytest.fixture
def connector(name, wire, request):
    connector = build(name, wire.url, request)
    yield connector
    connector.close()


def complete(connector, *, seconds=20.0):
    return connector.complete(PROMPT, max_tokens=50, deadline=time.time() + seconds)


# --- every connector -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY)
def test_a_prompt_becomes_a_draft(name, wire, connector):
    wire.say(said(name, ANSWER))
    draft = complete(connector)
    assert isinstance(draft, Draft)
    assert ANSWER in draft.text
    assert not draft.truncated


@pytest.mark.parametrize("name", EVERY)
def test_a_model_that_is_there_says_what_it_is(name, connector):
    health = connector.health()
    assert health.reachable
    assert health.model
    assert health.model in str(health)


@pytest.mark.parametrize("name", EVERY)
def test_nothing_of_a_connector_shows_its_key(name, connector):
    assert KEY not in repr(connector) + str(vars(connector))


def test_a_model_that_is_away_says_so_and_raises_nothing(name, request):
    connector = build(name, nowhere(), request)
    health = connector.health()
    assert not health.reachable
    assert health.problem
    assert KEY not in str(health)
    connector.close()


# --- faults ----------------------------------------------------------------------------------------


def nowhere():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


def hang(handler):
    time.sleep(2)


def drip(handler):
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    drop_by_drop(handler, b" ")


def drip_headers(handler):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    drop_by_drop(handler, b"X-Slow: yes\r\n")


def drop_by_drop(handler, drop):
    for _ in range(12):
        handler.wfile.write(drop)
        handler.wfile.flush()
        time.sleep(0.2)


def stall(handler):
    """Begin an answer at once and never end it: a limit on each read alone would start anew here."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    time.sleep(0.6)
    drop_by_drop(handler, b"{")


FAULTS = [
    (send_json({}, status=429, headers=AT_ONCE), ModelBusy),
    (send_json({}, status=503, headers=AT_ONCE), ModelBusy),
    (send_json({}, status=500), ModelUnavailable),
    (send_json({"error": KEY}, status=400), ModelRefused),
    (send_json({"error": KEY}, status=401), ModelRefused),
    (send_json({"error": KEY}, status=404), ModelRefused),
    (send_bytes(b"not json"), ModelAnswerInvalid),
    (send_bytes(b"\xff\xfe\x00garbage"), ModelAnswerInvalid),
    (send_bytes(b"[" * 100_000), ModelAnswerInvalid),
    (send_json([]), ModelAnswerInvalid),
    (send_json({}), ModelAnswerInvalid),
    (send_json({"choices": [], "content": None}), ModelAnswerInvalid),
    (send_json({"choices": [{}], "content": 7}), ModelAnswerInvalid),
    (send_json({"choices": [{"message": None}], "content": []}), ModelAnswerInvalid),
    (send_bytes(b'{"choices"', promised=5_000), ModelUnavailable),
    (send_bytes(b"", promised=5_000), ModelUnavailable),
    (send_bytes(b"x" * 10_000_000), ModelAnswerInvalid),
]


@pytest.mark.parametrize(("reply", "error"), FAULTS)
def test_a_fault_of_the_wire_is_one_typed_error_that_shows_no_secret(wire, connector, reply, error, caplog):
    caplog.set_level(logging.DEBUG)
    wire.say(reply)
    with pytest.raises(error) as raised:
        complete(connector)
    for secret in (KEY, SECRET):
        assert secret not in str(raised.value)
        assert secret not in caplog.text


@pytest.mark.parametrize("reply", [hang, drip, drip_headers, stall])
def test_a_server_that_is_too_slow_is_given_up_at_the_deadline(wire, connector, reply):
    ended = threading.Event()

    def slow(handler):
        reply(handler)
        ended.set()

    wire.say(slow)
    connector.health()
    with pytest.raises(DeadlineExceeded):
        complete(connector, seconds=0.8)
    assert not ended.is_set()


def test_no_call_is_made_after_the_deadline(wire, connector):
    with pytest.raises(DeadlineExceeded):
        complete(connector, seconds=-1)
    assert wire.requests == []


def test_a_server_that_is_not_there_is_unreachable_and_worth_another_try(name, request):
    connector = build(name, nowhere(), request)
    with pytest.raises(ModelUnreachable) as raised:
        complete(connector)
    assert raised.value.retryable
    connector.close()


def test_an_empty_answer_is_an_empty_draft(name, wire, connector):
    wire.say(said(name, ""))
    assert complete(connector).text == ""


# --- what is tried again ---------------------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_is_asked_again_when_it_says_so(name, wire, connector, status):
    wire.say(send_json({}, status=status, headers=AT_ONCE), said(name, ANSWER))
    assert complete(connector).text == ANSWER
    assert len(wire.requests) == 2


def test_a_server_that_asks_for_more_time_than_there_is_is_told_as_busy_at_once(wire, connector):
    wire.say(send_json({}, status=429, headers={"Retry-After": "3600"}))
    with pytest.raises(ModelBusy) as raised:
        complete(connector)
    assert raised.value.retry_after == 3600
    assert len(wire.requests) == 1


@pytest.mark.parametrize("status", [400, 401, 402, 404])
def test_a_fault_that_no_retry_mends_is_told_at_once(wire, connector, status):
    wire.say(send_json({}, status=status))
    with pytest.raises(ModelRefused):
        complete(connector)
    assert len(wire.requests) == 1


# --- calls in flight -------------------------------------------------------------------------------


class Gauge:
    """A reply that takes a while, and the most that were under way at once."""

    def __init__(self, reply, seconds):
        self._reply, self._seconds = reply, seconds
        self._lock = threading.Lock()
        self.now = self.most = 0

    def __call__(self, handler):
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(self._seconds)
        with self._lock:
            self.now -= 1
        self._reply(handler)


def test_of_many_questions_no_more_are_in_flight_than_allowed_and_all_are_answered(name, wire, connector):
    gauge = Gauge(said(name, ANSWER), 0.03)
    wire.say(gauge)
    with ThreadPoolExecutor(32) as threads:
        drafts = list(threads.map(lambda _: complete(connector), range(32)))
    assert [draft.text for draft in drafts] == [ANSWER] * 32
    assert gauge.most == 4


def test_a_question_that_gets_no_place_before_its_deadline_is_told_that_the_model_is_busy(name, wire, connector):
    wire.say(said(name, ANSWER))
    complete(connector)
    wire.say(Gauge(said(name, ANSWER), 1.0))
    with ThreadPoolExecutor(4) as threads:
        for _ in range(4):
            threads.submit(complete, connector)
        time.sleep(0.3)
        with pytest.raises(ModelBusy) as raised:
            complete(connector, seconds=0.2)
    assert raised.value.retryable


# --- scripted --------------------------------------------------------------------------------------


def test_the_scripted_model_answers_in_order_and_remembers_what_it_was_asked():
    scripted = ScriptedConnector(["one", Draft(text="two", truncated=True)])
    assert complete(scripted).text == "one"
    assert complete(scripted).truncated
    assert scripted.prompts == [PROMPT, PROMPT]
    with pytest.raises(ConnectorError):
        complete(scripted)
