"""What the README says is what the code does."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from producer.config import settings_table
from worker.config import ModelServerConfig, WorkerConfig

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
# The system tests run the rest; these need what no test can have.
NEEDS_DOCKER = {"docker compose up --build"}
SYSTEM_TESTS = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "tests/system").glob("test_*.py"))


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def commands() -> list[str]:
    lines = [line.partition("  #")[0].strip() for block in blocks("sh") for line in block.splitlines()]
    return [line for line in lines if line]


def test_the_table_of_settings_is_the_codes_own():
    table = README.partition("| default |\n|---|---|---|\n")[2].partition("\n\n<!-- end")[0]
    assert table == settings_table(WorkerConfig, ModelServerConfig)


def test_every_command_is_a_make_target_is_run_by_a_system_test_or_needs_docker():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    for command in commands():
        made = re.search(r"\bmake ([a-z-]+)", command)
        known = made and made[1] in targets
        assert known or command in NEEDS_DOCKER or command in SYSTEM_TESTS, command


def test_the_python_example_is_valid_and_short():
    (example,) = blocks("python")
    ast.parse(example)
    assert len(example.splitlines()) <= 12


def test_every_file_and_folder_that_is_named_exists():
    for name in re.findall(r"`((?:producer|worker|tests|benchmarks|examples)/[\w./]*)`", README):
        assert (ROOT / name).exists(), name


def test_every_setting_that_the_text_or_compose_names_exists():
    known = {f"RAG_{name}" for name in re.findall(r"`RAG_(\w+)`", settings_table(WorkerConfig, ModelServerConfig))}
    compose_only = set(re.findall(r"RAG_\w+", (ROOT / ".env.example").read_text()))
    named = set(re.findall(r"RAG_[A-Z_]+[A-Z]", README))
    assert {name.removesuffix("_FILE") for name in named} <= {n.removesuffix("_FILE") for n in known | compose_only}
