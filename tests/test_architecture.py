"""The table of allowed imports: a new arrow, a cycle, a heavy library in the wrong room or a long file fails here."""

from __future__ import annotations

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LONGEST_FILE = 400

# A third-party library, and the only rooms that may import it.
FENCES = {
    "torch": {
        "worker.embedding",
        "worker.index",
        "worker.resident",
        "worker.quantized",
        "worker.devices",
        "worker.search_kernel",
    },
    "sentence_transformers": {"worker.embedding"},
    "transformers": {"worker.embedding"},
    "redis": {
        "producer.link",
        "producer.subscription",
        "worker.backend",
        "worker.database",
        "worker.lease",
        "worker.journal",
        "worker.vitals",
    },
    "celery": {
        "worker.tasks",
        "worker.app",
        "worker.backend",
        "worker.observing",
        "worker.schedule",
        "worker.consumer",
        "worker.pulse",
        "worker.transport",
    },
    "kombu": {"worker.app", "worker.transport"},
    "httpx": {"worker.connectors.wire"},
    "httpx2": {"worker.connectors.claude"},
    "tenacity": {"worker.connectors.calls"},
    "anthropic": {"worker.connectors.claude"},
    "typer": {"producer.cli", "worker.admin"},
    "rich": {"producer.cli", "producer.printing", "worker.admin", "worker.demo"},
    "prometheus_client": {"worker.metrics"},
    "opentelemetry": {"producer.envelope", "worker.spans"},
    "xllamacpp": {"worker.model_server"},
    "yaml": {"worker.compose"},
}

# Which rooms a room may import from; a folder counts as one room. A new room or a new arrow needs a line here.
ARROWS = {
    line.partition(":")[0].strip(): set(line.partition(":")[2].split())
    for line in """
    producer: producer.aio producer.client producer.contract producer.errors
    producer.names:
    producer.errors:
    producer.message: producer.errors
    producer.scope: producer.errors producer.message
    producer.rendering:
    producer.asking: producer.errors producer.message producer.names producer.rendering producer.scope
    producer.ingestion: producer.errors producer.message producer.names
    producer.contract: producer.asking producer.ingestion producer.message producer.scope
    producer.grants:
    producer.config: producer.errors producer.grants
    producer.envelope:
    producer.scripts:
    producer.states: producer.contract producer.names
    producer.subscription:
    producer.link: producer.config producer.contract producer.errors producer.names producer.scripts \
        producer.states producer.subscription
    producer.aio: producer.config producer.contract producer.envelope producer.errors producer.grants \
        producer.link producer.names
    producer.background:
    producer.client: producer.aio producer.background producer.contract producer.errors producer.names
    producer.checkup: producer.names
    producer.evaluation: producer.client producer.contract producer.errors
    producer.doubts: producer.contract
    producer.printing: producer.checkup producer.client producer.contract producer.doubts producer.errors \
        producer.evaluation
    producer.cli: producer.checkup producer.client producer.contract producer.errors producer.evaluation \
        producer.printing
    worker:
    worker.errors:
    worker.records:
    worker.config: producer.config producer.contract producer.errors
    worker.stopwatch:
    worker.sources: worker.errors
    worker.documents: worker.errors worker.records
    worker.chunking: worker.records
    worker.calibration:
    worker.coalescing:
    worker.devices: worker.errors
    worker.embedding: worker.calibration worker.coalescing worker.devices worker.errors
    worker.scripts:
    worker.stored: worker.errors worker.records
    worker.database: worker.errors
    worker.store: worker.database worker.errors worker.records worker.scripts worker.stored
    worker.verification: worker.store worker.stored
    worker.likeness: worker.calibration
    worker.lease: worker.database worker.errors
    worker.claims: producer.names worker.database worker.errors
    worker.filters: worker.stored
    worker.fusion: worker.records
    worker.lexical:
    worker.quantized:
    worker.search_kernel: worker.devices worker.quantized
    worker.resident: worker.devices worker.filters worker.lexical worker.records worker.search_kernel worker.stored
    worker.index: worker.coalescing worker.devices worker.errors worker.filters worker.fusion worker.records \
        worker.resident worker.store worker.stored
    worker.conversation:
    worker.evidence: worker.conversation worker.filters worker.records
    worker.noticeboard: producer.envelope producer.names worker.database worker.errors
    worker.presence: producer.names worker.errors worker.noticeboard
    worker.faults: worker.connectors worker.errors worker.store
    worker.prompt: worker.records
    worker.connectors: worker.citations worker.errors worker.prompt worker.records
    worker.citations: worker.records
    worker.drafts: worker.prompt worker.records
    worker.pipeline: worker.records worker.stored
    worker.cutting: worker.chunking worker.documents worker.errors worker.pipeline worker.records worker.stored
    worker.tally: worker.records worker.stored
    worker.ingest: worker.cutting worker.errors worker.lease worker.pipeline worker.records worker.sources \
        worker.store worker.stored worker.tally worker.verification
    worker.single: worker.cutting worker.errors worker.ingest worker.lease worker.records worker.store \
        worker.stored worker.tally
    worker.unfinished: worker.citations
    worker.repair: worker.records
    worker.attempts: worker.citations worker.connectors worker.conversation worker.drafts worker.errors \
        worker.prompt worker.records worker.repair worker.stopwatch worker.unfinished
    worker.answer: worker.attempts worker.citations worker.connectors worker.conversation worker.drafts \
        worker.errors worker.evidence worker.filters worker.prompt worker.records worker.stopwatch
    worker.journal: worker.errors
    worker.capacity: worker.errors worker.journal
    worker.delivery: worker.errors worker.journal
    worker.nights:
    worker.stopping:
    worker.pace: worker.errors
    worker.access: producer.grants producer.names worker.errors
    worker.runtime: worker.access worker.answer worker.claims worker.config worker.connectors worker.drafts \
        worker.embedding worker.database worker.errors worker.faults worker.index worker.ingest worker.journal \
        worker.likeness worker.noticeboard worker.pace worker.single worker.store worker.stored worker.verification
    worker.translation: producer.contract worker.citations worker.filters worker.records worker.stored
    worker.tasks: producer.contract producer.errors producer.grants producer.names worker.capacity worker.delivery \
        worker.errors worker.lease worker.nights worker.records worker.runtime worker.stopping worker.translation
    worker.vitals: producer.names worker.errors worker.store
    worker.metrics: producer.contract producer.names worker.vitals
    worker.logformat:
    worker.spans: worker.errors
    worker.observing: producer.contract producer.names worker.errors worker.logformat worker.metrics worker.runtime \
        worker.spans worker.vitals
    worker.transport:
    worker.backend:
    worker.consumer: worker.errors worker.tasks
    worker.liveness:
    worker.appendonly: worker.database
    worker.pulse: worker.appendonly worker.database worker.errors worker.journal worker.liveness worker.transport
    worker.schedule: producer.names worker.config
    worker.app: producer.errors producer.names worker.capacity worker.config worker.database worker.errors \
        worker.journal worker.liveness worker.observing worker.presence worker.pulse worker.runtime worker.schedule \
        worker.stopping worker.transport
    worker.model_server: worker.config worker.errors
    worker.checkup: producer.checkup worker.vitals
    worker.inspection: worker.app worker.checkup worker.errors worker.runtime worker.vitals
    worker.supervisor: worker.errors
    worker.compose: worker.errors
    worker.embedded: worker.compose worker.config worker.errors worker.liveness worker.supervisor
    worker.demo: producer.client producer.contract producer.doubts producer.printing worker.drafts worker.errors
    worker.admin: producer.checkup producer.config producer.errors producer.printing worker.access worker.checkup \
        worker.config worker.demo worker.embedded worker.errors worker.inspection worker.model_server worker.runtime \
        worker.supervisor
    worker.__main__: worker.admin
    """.replace("\\\n", " ")
    .strip()
    .splitlines()
}
FOLDERS = ("worker.citations", "worker.connectors", "worker.documents")

# The check is pure: nothing that could reach a network, a server or a model.
IMPURE = {
    "redis",
    "torch",
    "httpx",
    "httpx2",
    "anthropic",
    "celery",
    "socket",
    "urllib",
    "subprocess",
    "requests",
    "numpy",
}


def modules() -> dict[str, Path]:
    found = {}
    for package in ("producer", "worker"):
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imports(module: str) -> set[str]:
    """Every name that a module imports, at its top or inside a function."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative imports hide their direction"
            names |= {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
    return names


def own_imports(module: str) -> set[str]:
    """The rooms that a module imports from; `worker` alone is empty and does not count."""
    return {name for name in imports(module) if name in MODULES and name not in {module, "worker"}}


def reached(module: str) -> set[str]:
    """Every room that a module rests on, however far down."""
    seen: set[str] = set()
    todo = [module]
    while todo:
        new = own_imports(todo.pop()) - seen
        seen |= new
        todo += new
    return seen


@pytest.mark.parametrize("module", MODULES)
def test_a_library_is_imported_only_in_its_rooms(module: str) -> None:
    top_level = {name.partition(".")[0] for name in imports(module)}
    for library, rooms in FENCES.items():
        assert library not in top_level or module in rooms, f"{module} imports {library}"


@pytest.mark.parametrize("module", [name for name in MODULES if name.startswith("producer")])
def test_the_producer_never_imports_the_worker(module: str) -> None:
    assert not {name for name in imports(module) if name.partition(".")[0] == "worker"}


def room(module: str) -> str:
    return next((folder for folder in FOLDERS if module == folder or module.startswith(folder + ".")), module)


@pytest.mark.parametrize("module", MODULES)
def test_a_room_imports_only_what_the_table_says(module: str) -> None:
    arrows = {room(name) for name in own_imports(module)} - {room(module), "producer"}
    assert arrows <= ARROWS[room(module)], f"{module}: {arrows - ARROWS[room(module)]}"


def test_the_table_names_no_arrow_and_no_room_that_is_not_there() -> None:
    drawn: dict[str, set[str]] = {}
    for module in MODULES:
        drawn.setdefault(room(module), set()).update(room(name) for name in own_imports(module))
    assert {name: arrows - {name, "producer"} for name, arrows in drawn.items()} == ARROWS


def test_the_rooms_form_no_cycle() -> None:
    TopologicalSorter({module: own_imports(module) for module in MODULES}).prepare()


def test_the_check_of_citations_reaches_no_network_no_server_and_no_model() -> None:
    for module in {"worker.citations"} | reached("worker.citations"):
        assert not {name.partition(".")[0] for name in imports(module)} & IMPURE, module


def test_only_the_celery_edge_knows_both_languages() -> None:
    rooms = {
        module
        for module in MODULES
        if "producer.contract" in own_imports(module) and "worker.records" in own_imports(module)
    }
    assert rooms == {"worker.tasks", "worker.translation"}


def test_only_the_answer_flow_and_the_connectors_touch_a_draft() -> None:
    holders = {module for module in MODULES if "worker.records.Draft" in imports(module)}
    connectors = {module for module in MODULES if module.startswith("worker.connectors")}
    assert holders <= connectors | {"worker.attempts", "worker.drafts"}


def test_a_draft_cannot_reach_the_result_backend() -> None:
    edge = own_imports("worker.tasks") | own_imports("worker.translation")
    assert not {"worker.drafts", "worker.connectors"} & edge


@pytest.mark.parametrize("module", MODULES)
def test_no_file_is_longer_than_400_lines(module: str) -> None:
    assert len(MODULES[module].read_text(encoding="utf-8").splitlines()) <= LONGEST_FILE


@pytest.mark.parametrize("module", MODULES)
def test_every_room_says_in_its_first_line_what_it_is_for(module: str) -> None:
    documentation = ast.get_docstring(ast.parse(MODULES[module].read_text(encoding="utf-8")))
    assert documentation, module


def test_no_module_is_named_after_the_standard_library() -> None:
    names = {part for module in MODULES for part in module.split(".")}
    assert not names & set(sys.stdlib_module_names)


def test_importing_the_producer_loads_nothing_heavy() -> None:
    heavy = [
        "celery",
        "kombu",
        "torch",
        "numpy",
        "httpx",
        "pydantic",
        "anthropic",
        "transformers",
        "typer",
        "rich",
        "worker",
    ]
    code = f"import sys, producer; print([name for name in {heavy!r} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_the_producers_public_names_are_exactly_its_all() -> None:
    import producer

    public = {name for name in vars(producer) if not name.startswith("_") and f"producer.{name}" not in MODULES}
    assert public == set(producer.__all__)
