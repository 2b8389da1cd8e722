"""A folder becomes a collection: only what changed is read, one bad file stops no other, deletion needs proof."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from worker.errors import FolderUnavailable
from worker.index import Index
from worker.ingest import IngestFlow
from worker.store import Store

COLLECTION = "handbook"
TEXTS = {
    "limits.md": "# Limits\n\nThe IRA limit for 2025 is $7,000.",
    "vesting.txt": "The employer match vests over five years.",
    "plans/auto.html": "<html><body><h1>Auto</h1><p>The collision deductible is $500.</p></body></html>",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    for name, text in TEXTS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def store(redis_url):
    store = Store.connect(redis_url)
    yield store
    store.close()


@pytest.fixture
def flow(store, embedder):
    return IngestFlow(store=store, embedder=embedder)


def texts(store: Store, embedder) -> set[str]:
    """What a question could be answered from."""
    index = Index(store, device="cpu")
    try:
        hits = index.search(COLLECTION, embedder.embed_query("anything")[None, :], k=50)[0]
        return {f"{hit.document}: {hit.chunk.text}" for hit in hits}
    finally:
        index.close()


def test_every_file_becomes_chunks_with_its_place_in_the_folder_as_its_name(flow, store, embedder, folder):
    outcome = flow.ingest(folder, collection=COLLECTION)
    assert (outcome.added, outcome.unchanged, outcome.refused) == (3, 0, ())
    assert texts(store, embedder) == {
        "limits.md: The IRA limit for 2025 is $7,000.",
        "vesting.txt: The employer match vests over five years.",
        "plans/auto.html: The collision deductible is $500.",
    }


def test_a_second_run_reads_nothing(flow, folder):
    flow.ingest(folder, collection=COLLECTION)
    again = flow.ingest(folder, collection=COLLECTION)
    assert (again.added, again.changed, again.unchanged, again.chunks) == (0, 0, 3, 0)


def test_a_changed_file_replaces_its_old_text(flow, store, embedder, folder):
    flow.ingest(folder, collection=COLLECTION)
    (folder / "vesting.txt").write_text("The employer match vests over three years.")
    outcome = flow.ingest(folder, collection=COLLECTION)
    assert (outcome.changed, outcome.unchanged) == (1, 2)
    found = texts(store, embedder)
    assert "vesting.txt: The employer match vests over three years." in found
    assert not any("five years" in text for text in found)


def test_a_file_that_cannot_be_read_is_told_with_its_reason_and_the_rest_goes_on(flow, folder):
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 this is no PDF")
    (folder / "drawing.dwg").write_bytes(b"AC1032")
    (folder / "empty.txt").write_text("   \n")
    outcome = flow.ingest(folder, collection=COLLECTION)
    assert outcome.added == 3
    states = {refused.name: (refused.state, bool(refused.reason)) for refused in outcome.refused}
    assert states == {
        "broken.pdf": ("refused", True),
        "drawing.dwg": ("refused", True),
        "empty.txt": ("empty", True),
    }


def test_a_refused_file_is_told_again_on_the_next_run_without_being_read_again(flow, folder):
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 this is no PDF")
    flow.ingest(folder, collection=COLLECTION)
    again = flow.ingest(folder, collection=COLLECTION)
    assert [refused.name for refused in again.refused] == ["broken.pdf"]
    assert again.unchanged == 3


def test_a_file_that_became_unreadable_stops_answering_with_its_old_text(flow, store, embedder, folder):
    flow.ingest(folder, collection=COLLECTION)
    (folder / "vesting.txt").write_text("")
    flow.ingest(folder, collection=COLLECTION)
    assert not any(text.startswith("vesting.txt") for text in texts(store, embedder))


def test_a_removed_file_disappears(flow, store, embedder, folder):
    flow.ingest(folder, collection=COLLECTION)
    (folder / "vesting.txt").unlink()
    outcome = flow.ingest(folder, collection=COLLECTION)
    assert outcome.removed == 1
    assert not any(text.startswith("vesting.txt") for text in texts(store, embedder))


def test_a_renamed_file_answers_under_its_new_name_alone(flow, store, embedder, folder):
    flow.ingest(folder, collection=COLLECTION)
    (folder / "vesting.txt").rename(folder / "match.txt")
    outcome = flow.ingest(folder, collection=COLLECTION)
    assert (outcome.renamed, outcome.added, outcome.removed, outcome.chunks) == (1, 0, 0, 0)
    found = texts(store, embedder)
    assert "match.txt: The employer match vests over five years." in found
    assert len(found) == 3


def test_a_folder_that_lost_most_of_its_files_deletes_nothing_and_says_so(flow, store, embedder, folder):
    flow.ingest(folder, collection=COLLECTION)
    (folder / "vesting.txt").unlink()
    (folder / "limits.md").unlink()
    outcome = flow.ingest(folder, collection=COLLECTION)
    assert outcome.removed == 0
    assert "2 of 3 documents are gone" in outcome.warnings[0]
    assert len(texts(store, embedder)) == 3


def test_a_missing_folder_is_an_error_and_deletes_nothing(flow, store, embedder, folder, tmp_path: Path):
    flow.ingest(folder, collection=COLLECTION)
    with pytest.raises(FolderUnavailable, match="missing"):
        flow.ingest(tmp_path / "not-mounted", collection=COLLECTION)
    assert len(texts(store, embedder)) == 3


def test_progress_ends_with_every_file_done(flow, folder):
    seen = []
    (folder / "broken.pdf").write_bytes(b"no pdf")
    flow.ingest(folder, collection=COLLECTION, progress=seen.append)
    assert [step.done for step in seen] == sorted(step.done for step in seen)
    assert (seen[-1].done, seen[-1].total, seen[-1].failures) == (4, 4, 1)


def test_a_rebuild_replaces_what_another_embedder_wrote_and_switches_at_the_end(flow, store, embedder, folder):
    store.ensure(COLLECTION, fingerprint="another embedder", dimension=3)
    seen = []
    outcome = flow.rebuild(
        folder, collection=COLLECTION, progress=lambda _: seen.append(store.generation(COLLECTION))
    )
    assert {generation.fingerprint for generation in seen} == {"another embedder"}
    assert store.generation(COLLECTION).fingerprint == embedder.fingerprint
    assert outcome.added == 3
    assert len(texts(store, embedder)) == 3
    assert flow.ingest(folder, collection=COLLECTION).unchanged == 3


def test_a_rebuild_from_a_folder_that_is_missing_leaves_the_live_one(flow, store, embedder, folder, tmp_path: Path):
    flow.ingest(folder, collection=COLLECTION)
    with pytest.raises(FolderUnavailable):
        flow.rebuild(tmp_path / "not-mounted", collection=COLLECTION)
    assert len(texts(store, embedder)) == 3


def test_a_rebuild_from_a_folder_that_lost_most_of_its_files_leaves_the_live_one(flow, store, embedder, folder):
    flow.ingest(folder, collection=COLLECTION)
    (folder / "vesting.txt").unlink()
    (folder / "limits.md").unlink()
    with pytest.raises(FolderUnavailable, match="2 of 3 documents are gone"):
        flow.rebuild(folder, collection=COLLECTION)
    assert len(texts(store, embedder)) == 3


def test_files_that_all_moved_to_another_folder_keep_answering_under_their_new_names(flow, store, embedder, folder):
    flow.ingest(folder, collection=COLLECTION)
    for name in ("vesting.txt", "limits.md"):
        (folder / name).rename(folder / "plans" / name)
    outcome = flow.ingest(folder, collection=COLLECTION)
    assert outcome.warnings == ()
    assert {text.partition(":")[0] for text in texts(store, embedder)} == {
        "plans/vesting.txt",
        "plans/limits.md",
        "plans/auto.html",
    }


def test_stored_vectors_are_unit_vectors(flow, store, embedder, folder):
    flow.ingest(folder, collection=COLLECTION)
    index = Index(store, device="cpu")
    hits = index.search(COLLECTION, embedder.embed_query("IRA limit")[None, :], k=3)[0]
    assert np.isclose(
        hits[0].score,
        float(embedder.embed_passages([hits[0].chunk.embedded_text])[0] @ embedder.embed_query("IRA limit")),
        atol=1e-5,
    )
    index.close()
