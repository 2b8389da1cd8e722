"""What may happen in a night: death, another embedder, two runs, a stop, an empty folder, names that move."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from tests.snapshots import assert_same, content
from worker.embedding import Embedder
from worker.errors import EmbedderMismatch, FolderMismatch, FolderUnavailable, IngestRunning, IngestStopped
from worker.index import Index
from worker.ingest import IngestFlow
from worker.lease import Lease
from worker.store import Store

C = "handbook"
ROOT = Path(__file__).parent.parent.parent


class Counting:
    """The real embedder, and how many texts it was given."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.texts = 0

    def __getattr__(self, name: str):
        return getattr(self._embedder, name)

    def embed_passages(self, texts):
        self.texts += len(texts)
        return self._embedder.embed_passages(texts)


@pytest.fixture
def store(redis_url):
    store = Store.connect(redis_url)
    yield store
    store.close()


@pytest.fixture
def counting(embedder):
    return Counting(embedder)


@pytest.fixture
def flow(store, counting):
    return IngestFlow(store=store, embedder=counting)


@pytest.fixture(scope="session")
def other_embedder() -> Embedder:
    """Another prompt makes other vectors: as good as another model."""
    return Embedder(device="cpu", passage_prompt="passage of a handbook: ")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    write(folder, "one")
    return folder


def write(folder: Path, version: str, *, files: int = 6, chunks: int = 4) -> None:
    """Every file holds its version in every chunk, and as many chunks as all files."""
    for number in range(files):
        parts = [f"# Part {part}\n\nRule {part} of file {number} in version {version}." for part in range(chunks)]
        (folder / f"{number:02}.md").write_text("\n\n".join(parts))


def versions(store: Store) -> dict[str, str]:
    return {name: one.chunks[0].text.split()[-1] for name, one in content(store, C).items() if one.chunks}


# --- a run that dies or is stopped ---------------------------------------------------------------

INGEST = """
import sys
from pathlib import Path
from worker.embedding import Embedder
from worker.ingest import IngestFlow
from worker.store import Store
flow = IngestFlow(store=Store.connect(sys.argv[1]), embedder=Embedder(device="cpu"), lease_seconds=3)
flow.ingest(Path(sys.argv[2]), collection=sys.argv[3])
"""


class Reader:
    """Searches all the while, and keeps every state of a document that was not whole."""

    def __init__(self, store: Store, embedder: Embedder, *, chunks: int) -> None:
        self._index = Index(store, device="cpu")
        self._query = embedder.embed_query("rule")[None]
        self._chunks = chunks
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.searches, self.torn = 0, []

    def _run(self) -> None:
        while not self._over.is_set():
            found: dict[str, list[str]] = {}
            for hit in self._index.search(C, self._query, k=10_000)[0]:
                found.setdefault(hit.document, []).append(hit.chunk.text.split()[-1])
            self.searches += 1
            self._over.wait(0.02)
            self.torn += [name for name, seen in found.items() if len(seen) != self._chunks or len(set(seen)) > 1]

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._index.close()


def test_a_run_that_is_killed_goes_on_where_it_died_and_no_search_sees_half_a_document(
    store, flow, embedder, folder, redis_url
):
    write(folder, "one", files=26, chunks=12)
    flow.ingest(folder, collection=C)
    write(folder, "second", files=26, chunks=12)
    with Reader(store, embedder, chunks=12) as reader:
        command = [sys.executable, "-c", INGEST, redis_url, str(folder), C]
        run = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
        before = store.generation(C).version
        while store.generation(C).version < before + 5:
            assert run.poll() is None
            time.sleep(0.005)
        run.send_signal(signal.SIGKILL)
        run.wait()
        done = sum(version == "second." for version in versions(store).values())
        assert 0 < done < 26
        again = finished(flow, folder)
    assert reader.searches > 3
    assert reader.torn == []
    assert (again.changed, again.unchanged) == (26 - done, done)
    flow.ingest(folder, collection="undisturbed")
    assert_same(content(store, C), content(store, "undisturbed"))


def finished(flow: IngestFlow, folder: Path):
    """Run again as soon as the dead run's lease has ended."""
    end = time.monotonic() + 10
    while True:
        try:
            return flow.ingest(folder, collection=C)
        except IngestRunning:
            assert time.monotonic() < end
            time.sleep(0.1)


def after(count: int):
    """A `stop` that says yes when it was asked so often."""
    asked = iter(range(10_000))
    return lambda: next(asked) >= count


def test_a_run_that_is_stopped_keeps_what_is_done_and_the_next_one_does_the_rest(store, flow, folder):
    with pytest.raises(IngestStopped) as raised:
        flow.ingest(folder, collection=C, stop=after(2))
    assert raised.value.retryable
    assert len(content(store, C)) == 2
    again = flow.ingest(folder, collection=C)
    assert (again.added, again.unchanged) == (4, 2)


def test_a_stopped_run_removes_nothing(store, flow, folder):
    flow.ingest(folder, collection=C)
    (folder / "00.md").unlink()
    (folder / "new.md").write_text("new")
    with pytest.raises(IngestStopped):
        flow.ingest(folder, collection=C, stop=lambda: True)
    assert "00.md" in content(store, C)


def test_two_runs_at_once_on_one_collection_the_second_says_so(store, flow, folder):
    with Lease(store.database, C).held():
        with pytest.raises(IngestRunning):
            flow.ingest(folder, collection=C)
        with pytest.raises(IngestRunning):
            flow.rebuild(folder, collection=C)
        flow.ingest(folder, collection="other")
    assert store.collections() == ["other"]


# --- what costs nothing --------------------------------------------------------------------------

opened: list[str] | None = None


def _note_open(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and opened is not None:
        opened.append(str(arguments[0]))


sys.addaudithook(_note_open)


def test_an_unchanged_folder_of_many_files_opens_none_of_them_and_embeds_nothing(store, counting, flow, folder):
    global opened
    for number in range(300):
        (folder / f"small{number}.txt").write_text(f"Rule {number}.")
    flow.ingest(folder, collection=C)
    counting.texts, opened = 0, []
    again = flow.ingest(folder, collection=C)
    seen, opened = opened, None
    assert again.unchanged == 306
    assert not [path for path in seen if path.startswith(str(folder))]
    assert counting.texts == 0


def test_a_renamed_file_costs_no_embedding_and_keeps_its_vectors(store, counting, flow, folder):
    flow.ingest(folder, collection=C)
    before = content(store, C)["00.md"]
    counting.texts = 0
    (folder / "sub").mkdir()
    (folder / "00.md").rename(folder / "sub" / "moved.md")
    outcome = flow.ingest(folder, collection=C)
    assert (outcome.renamed, outcome.unchanged, outcome.added, outcome.removed) == (1, 5, 0, 0)
    assert counting.texts == 0
    moved = content(store, C)["sub/moved.md"]
    assert moved.chunks == before.chunks
    assert np.array_equal(moved.vectors, before.vectors)
    assert "00.md" not in content(store, C)


def test_a_file_with_a_new_ending_is_read_anew(store, flow, folder):
    flow.ingest(folder, collection=C)
    (folder / "00.md").rename(folder / "00.txt")
    outcome = flow.ingest(folder, collection=C)
    assert (outcome.renamed, outcome.added, outcome.removed) == (0, 1, 1)
    assert "# Part 0" in content(store, C)["00.txt"].chunks[0].text


def test_a_file_that_was_only_touched_is_hashed_once(store, counting, flow, folder):
    global opened
    flow.ingest(folder, collection=C)
    counting.texts = 0
    os.utime(folder / "00.md", (1, 1))
    assert flow.ingest(folder, collection=C).unchanged == 6
    assert store.info(C, "00.md").modified_ns == 1_000_000_000
    opened = []
    flow.ingest(folder, collection=C)
    seen, opened = opened, None
    assert str(folder / "00.md") not in seen
    assert counting.texts == 0


# --- loss ----------------------------------------------------------------------------------------


def test_an_empty_folder_deletes_nothing_and_the_warning_stays_until_the_folder_is_back(store, flow, folder):
    flow.ingest(folder, collection=C)
    told_at = store.facts(C).ingested_at
    for file in folder.iterdir():
        file.rename(folder.parent / file.name)
    outcome = flow.ingest(folder, collection=C)
    assert outcome.removed == 0
    assert "6 of 6 documents are gone" in outcome.warnings[0]
    assert store.facts(C).warning == outcome.warnings[0]
    assert len(versions(store)) == 6
    for number in range(6):
        (folder.parent / f"{number:02}.md").rename(folder / f"{number:02}.md")
    assert flow.ingest(folder, collection=C).unchanged == 6
    facts = store.facts(C)
    assert (facts.warning, facts.folder) == ("", str(folder.resolve()))
    assert facts.ingested_at > told_at


def test_the_last_document_of_a_folder_is_not_deleted_with_it(store, flow, folder):
    for number in range(1, 6):
        (folder / f"{number:02}.md").unlink()
    flow.ingest(folder, collection=C)
    (folder / "00.md").unlink()
    assert flow.ingest(folder, collection=C).warnings
    assert list(versions(store)) == ["00.md"]


def test_the_share_that_counts_as_loss_is_the_operators(store, embedder, folder):
    careless = IngestFlow(store=store, embedder=embedder, largest_loss=0.9)
    careless.ingest(folder, collection=C)
    for number in range(5):
        (folder / f"{number:02}.md").unlink()
    assert careless.ingest(folder, collection=C).removed == 5


def test_a_folder_that_is_gone_is_noted_where_an_alarm_can_see_it(store, flow, folder):
    flow.ingest(folder, collection=C)
    folder.rename(folder.parent / "elsewhere")
    with pytest.raises(FolderUnavailable):
        flow.ingest(folder, collection=C)
    assert "is missing" in store.facts(C).warning
    assert len(versions(store)) == 6


def test_another_folder_is_not_mixed_in(store, flow, folder, tmp_path):
    flow.ingest(folder, collection=C)
    other = tmp_path / "other"
    other.mkdir()
    write(other, "other")
    with pytest.raises(
        FolderMismatch, match=f"made from {folder.resolve()}, and {other} .*python -m worker move {C}"
    ):
        flow.ingest(other, collection=C)
    assert set(versions(store).values()) == {"one."}
    flow.rebuild(other, collection=C)
    assert set(versions(store).values()) == {"other."}
    assert flow.ingest(other, collection=C).unchanged == 6


def test_a_run_that_died_early_has_bound_the_folder_already(store, flow, folder, tmp_path):
    with pytest.raises(IngestStopped):
        flow.ingest(folder, collection=C, stop=lambda: True)
    with pytest.raises(FolderMismatch):
        flow.ingest(tmp_path, collection=C)


# --- another embedder ----------------------------------------------------------------------------


def test_another_embedder_builds_beside_what_answers_until_all_is_there(
    store, flow, embedder, other_embedder, folder
):
    """A worker that still runs the old embedder answers before, during and after the switch."""
    flow.ingest(folder, collection=C)
    old = Index(store, device="cpu", fingerprint=embedder.fingerprint)
    new = Index(store, device="cpu", fingerprint=other_embedder.fingerprint)
    query = embedder.embed_query("rule")[None]
    answers: list[int] = []

    def ask(_: object) -> None:
        answers.append(len(old.search(C, query, k=100)[0]))
        if len(answers) < 3:
            with pytest.raises(EmbedderMismatch, match="python -m worker rebuild"):
                new.search(C, query, k=1)

    outcome = IngestFlow(store=store, embedder=other_embedder).ingest(folder, collection=C, progress=ask)
    ask(None)
    assert set(answers) == {24}
    assert len(answers) > 6
    assert len(new.search(C, query, k=100)[0]) == 24
    assert outcome.added == 6
    assert "every document was embedded anew" in outcome.warnings[0]
    again = IngestFlow(store=store, embedder=other_embedder).ingest(folder, collection=C)
    assert again.unchanged == 6
    with pytest.raises(EmbedderMismatch):  # it would not see what changes from now on
        old.search(C, query, k=1)
    assert len(new.search(C, query, k=100)[0]) == 24
    old.close()
    new.close()


def test_a_new_generation_that_is_half_built_is_continued(store, flow, other_embedder, folder, redis_url):
    flow.ingest(folder, collection=C)
    live = store.generation(C).id
    counting = Counting(other_embedder)
    changing = IngestFlow(store=store, embedder=counting)
    with pytest.raises(IngestStopped):
        changing.ingest(folder, collection=C, stop=after(2))
    assert store.generation(C).id == live
    assert counting.texts == 8
    (folder / "05.md").unlink()
    changing.ingest(folder, collection=C)
    assert counting.texts == 20
    assert store.generation(C).fingerprint == other_embedder.fingerprint
    changing.ingest(folder, collection="undisturbed")
    assert_same(content(store, C), content(store, "undisturbed"))


def test_what_is_half_built_for_an_embedder_that_nobody_uses_any_more_is_dropped(store, flow, other_embedder, folder):
    flow.ingest(folder, collection=C)
    keys = store.database.client.dbsize()
    with pytest.raises(IngestStopped):
        IngestFlow(store=store, embedder=other_embedder).ingest(folder, collection=C, stop=after(3))
    assert store.database.client.dbsize() > keys
    flow.ingest(folder, collection=C)
    assert store.database.client.dbsize() == keys


def test_a_folder_that_lost_most_of_its_files_ends_no_generation(store, flow, other_embedder, folder):
    flow.ingest(folder, collection=C)
    for number in range(5):
        (folder / f"{number:02}.md").unlink()
    with pytest.raises(FolderUnavailable, match="5 of 6 documents are gone"):
        IngestFlow(store=store, embedder=other_embedder).ingest(folder, collection=C)
    assert len(versions(store)) == 6
    assert "5 of 6 documents are gone" in store.facts(C).warning


def test_as_many_files_of_another_disk_end_no_generation_either(store, flow, other_embedder, folder):
    flow.ingest(folder, collection=C)
    for number in range(6):
        (folder / f"{number:02}.md").rename(folder / f"other{number}.md")
    changing = IngestFlow(store=store, embedder=other_embedder)
    with pytest.raises(FolderUnavailable, match="6 of 6 documents are gone"):
        changing.ingest(folder, collection=C)
    outcome = changing.rebuild(folder, collection=C, accept_loss=True)
    assert (outcome.added, outcome.removed) == (6, 6)


def test_vectors_that_this_embedder_does_not_make_are_refused_though_the_fingerprint_is_right(
    store, embedder, folder
):
    IngestFlow(store=store, embedder=embedder).ingest(folder, collection=C)
    for name, one in content(store, C).items():
        store.replace(C, store.info(C, name), one.chunks, np.roll(one.vectors, 1, axis=1))
    with pytest.raises(EmbedderMismatch, match=f"python -m worker rebuild {C}"):
        IngestFlow(store=store, embedder=embedder).ingest(folder, collection=C)
    IngestFlow(store=store, embedder=embedder).rebuild(folder, collection=C)
    assert IngestFlow(store=store, embedder=embedder).ingest(folder, collection=C).unchanged == 6
