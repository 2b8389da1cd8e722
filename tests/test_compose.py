"""docker-compose.yml follows the compose specification, hides what it must, and runs what the embedded stack runs."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest
import yaml
from compose_spec import PyCompose

from producer.names import ANSWER_QUEUE, INGEST_QUEUE
from worker.compose import service_commands
from worker.config import ModelServerConfig, WorkerConfig
from worker.errors import StackError

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load(TEXT)
SERVICES = COMPOSE["services"]


def test_every_process_of_the_architecture_is_a_service():
    assert set(SERVICES) == {"redis", "model", "answer", "ingest", "beat", "flower"}


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_has_a_health_check_and_restarts(name):
    assert SERVICES[name]["healthcheck"]["test"]
    assert SERVICES[name]["restart"] == "unless-stopped"


@pytest.mark.parametrize("name", SERVICES)
def test_nothing_is_published_beyond_the_machine(name):
    assert all(str(port).startswith("127.0.0.1:") for port in SERVICES[name].get("ports", []))


PASSWORDS = {name for name in re.findall(r"\w+", TEXT) if re.fullmatch(r"RAG_\w*PASSWORD", name)}


def test_passwords_are_required_and_none_is_in_the_file():
    assert len(PASSWORDS) == 6
    for variable in PASSWORDS:
        uses = re.findall(r"(?<!\$)\$\{" + variable + r"([^}]*)\}", TEXT)
        assert uses
        assert all(use.startswith(":?") for use in uses)


@pytest.mark.parametrize("name", SERVICES)
def test_containers_run_without_root_without_capabilities_and_without_a_writable_file_system(name):
    service = SERVICES[name]
    assert service["user"] == ("valkey" if name == "redis" else "1000:1000")
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not {"privileged", "cap_add", "devices", "network_mode", "pid"} & set(service)


def test_each_process_is_given_the_password_of_its_own_role_alone():
    used = {
        name: set(re.findall(r"RAG_\w*PASSWORD", json.dumps(service["environment"])))
        for name, service in SERVICES.items()
    }
    assert used.pop("redis") == PASSWORDS - {"RAG_FLOWER_PASSWORD"}
    assert used == {
        "model": set(),
        "answer": {"RAG_WORKER_PASSWORD"},
        "ingest": {"RAG_WORKER_PASSWORD"},
        "beat": {"RAG_BEAT_PASSWORD"},
        "flower": {"RAG_FLOWER_REDIS_PASSWORD", "RAG_FLOWER_PASSWORD"},
    }


def test_the_example_file_of_settings_holds_every_password_and_no_value():
    example = (ROOT / ".env.example").read_text(encoding="utf-8").splitlines()
    assert {line for line in example if re.match(r"RAG_\w*PASSWORD", line)} == {f"{name}=" for name in PASSWORDS}


def test_redis_keeps_what_it_was_given_and_evicts_nothing():
    command = " ".join(SERVICES["redis"]["command"])
    assert "--appendonly yes" in command
    assert "--maxmemory-policy noeviction" in command
    assert "redis-data:/data" in SERVICES["redis"]["volumes"]
    assert "redis-data" in COMPOSE["volumes"]


def test_questions_and_documents_have_workers_of_their_own():
    commands = service_commands()
    assert f"--queues={ANSWER_QUEUE}" in commands["answer"]
    assert "--pool=threads" in commands["answer"]
    assert f"--queues={INGEST_QUEUE}" in commands["ingest"]
    assert {"--pool=prefork", "--concurrency=1"} <= set(commands["ingest"])


def test_flower_is_given_the_broker_and_no_result_backend():
    environment = SERVICES["flower"]["environment"]
    assert set(environment) == {"BROKER_URL", "FLOWER_ADDRESS", "FLOWER_PORT", "FLOWER_BASIC_AUTH"}
    assert not any("app" in word for word in SERVICES["flower"]["command"])


def test_the_workers_settings_exist():
    known = {item.metadata["variable"] for cls in (WorkerConfig, ModelServerConfig) for item in fields(cls)}
    for name in ("model", "answer", "ingest", "beat"):
        used = {variable for variable in SERVICES[name]["environment"] if variable.startswith("RAG_")}
        assert used <= known


def interpolated(text: str) -> str:
    """The file as Compose reads it where only the required variables are set."""
    return re.sub(r"(?<!\$)\$\{\w+(?::([-?])([^}]*))?\}", lambda m: m[2] if m[1] == "-" else "given", text)


def parsed(text: str) -> PyCompose:
    """Read the specification's own types; PyYAML resolves the file's anchors before."""
    return PyCompose.from_json(json.dumps(yaml.safe_load(text)))


def test_the_file_fits_the_compose_specification():
    compose = parsed(interpolated(TEXT))
    compose.validate()
    assert set(compose.service_names()) == set(SERVICES)


def test_a_file_that_does_not_fit_would_be_noticed():
    with pytest.raises(ValueError, match="prts"):
        parsed(interpolated(TEXT).replace("ports:", "prts:"))


def test_a_checkout_without_the_file_is_told_so(tmp_path: Path):
    with pytest.raises(StackError, match="cannot be read"):
        service_commands(tmp_path / "docker-compose.yml")
