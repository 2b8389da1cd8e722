"""Settings are read once, all faults are told together, and a secret is never shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from producer.config import ProducerConfig, read
from producer.errors import ConfigurationError
from worker.config import load

URL = "redis://:secret@localhost:6379/0"


def test_every_fault_is_named_at_once():
    faulty = {"RAG_DEVICE": "gpu", "RAG_TOP_K": "none", "RAG_NIGHTLY_AT": "2am", "RAG_TIME_ZONE": "Mars/Base"}
    with pytest.raises(ConfigurationError) as raised:
        load(faulty)
    for variable in ("RAG_BROKER_URL", *faulty):
        assert variable in str(raised.value)


def test_a_secret_may_come_from_a_file(tmp_path: Path):
    file = tmp_path / "url"
    file.write_text(URL + "\n")
    assert read(ProducerConfig, {"RAG_BROKER_URL_FILE": str(file)}).broker_url == URL


def test_a_secret_file_that_is_missing_is_named(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="RAG_BROKER_URL"):
        read(ProducerConfig, {"RAG_BROKER_URL_FILE": str(tmp_path / "none")})


def test_no_secret_is_ever_shown():
    config = load({"RAG_BROKER_URL": URL, "RAG_LOCAL_API_KEY": "key-1", "RAG_CLAUDE_API_KEY": "key-2"})
    assert not any(secret in repr(config) for secret in ("secret", "key-1", "key-2"))


def test_a_wrong_url_is_refused_without_showing_its_password():
    with pytest.raises(ConfigurationError) as raised:
        load({"RAG_BROKER_URL": "http://:secret@localhost"})
    assert "secret" not in str(raised.value)


def test_an_empty_variable_counts_as_not_set():
    assert load({"RAG_BROKER_URL": URL, "RAG_DEVICE": ""}).device == "auto"


def test_folders_are_pairs_of_collection_and_folder():
    config = load({"RAG_BROKER_URL": URL, "RAG_FOLDERS": "handbook=/srv/h, rates = /srv/r"})
    assert config.folders == (("handbook", Path("/srv/h")), ("rates", Path("/srv/r")))


@pytest.mark.parametrize("text", ["handbook", "handbook=", "Hand Book=/srv", "=/srv"])
def test_a_folder_without_a_valid_collection_is_refused(text: str):
    with pytest.raises(ConfigurationError, match="RAG_FOLDERS"):
        load({"RAG_BROKER_URL": URL, "RAG_FOLDERS": text})


@pytest.mark.parametrize("text", ["2am", "25:00", "02:60", "2:00"])
def test_a_nightly_time_that_is_no_time_of_day_is_refused(text: str):
    with pytest.raises(ConfigurationError, match="RAG_NIGHTLY_AT"):
        load({"RAG_BROKER_URL": URL, "RAG_NIGHTLY_AT": text})


def test_an_address_with_a_password_in_it_is_refused_without_showing_it():
    with pytest.raises(ConfigurationError, match="RAG_LOCAL_URL") as raised:
        load({"RAG_BROKER_URL": URL, "RAG_LOCAL_URL": "http://user:sesame@127.0.0.1/v1"})
    assert "sesame" not in str(raised.value)
