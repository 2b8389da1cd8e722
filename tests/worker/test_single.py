"""One document by itself: stored, replaced and deleted by name, beside a folder that neither loses nor revives it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from producer.names import UPLOAD_PREFIX
from tests.snapshots import content
from worker.claims import Claims
from worker.embedding import Embedder
from worker.errors import EmbedderMismatch, IngestStopped, NameTaken, UnknownCollection, UploadLost
from worker.ingest import IngestFlow
from worker.single import SingleFlow
from worker.store import Store

C = "handbook"
RULE = "The collision deductible is $500."


@pytest.fixture
def store(redis_url):
    store = Store.connect(redis_url)
    yield store
    store.close()


@pytest.fixture
def singles(store, embedder):
    return SingleFlow(store=store, embedder=embedder)


@pytest.fixture
def nightly(store, embedder):
    return IngestFlow(store=store, embedder=embedder)


@pytest.fixture(scope="session")
def other_embedder() -> Embedder:
    return Embedder(device="cpu", passage_prompt="passage: ")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    for name in ("a.md", "b.md", "c.md"):
        (folder / name).write_text(f"Rule of {name}.")
    return folder


@pytest.fixture
def upload(singles, tmp_path):
    def upload(name: str, text: str, *, tags: tuple[str, ...] = ()):
        path = tmp_path / ("upload" + Path(name).suffix)
        path.write_text(text)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        return singles.upload(path, name=name, content_hash=digest, collection=C, tags=tags)

    return upload


def texts(store: Store) -> dict[str, list[str]]:
    return {name: [chunk.text for chunk in one.chunks] for name, one in content(store, C).items() if one.chunks}


def test_an_upload_makes_its_collection_and_replaces_what_was_there(store, upload):
    assert upload("auto.md", RULE, tags=("2024",)).added == 1
    outcome = upload("auto.md", "The deductible is $750.")
    assert (outcome.added, outcome.changed, outcome.chunks) == (0, 1, 1)
    assert texts(store) == {"auto.md": ["The deductible is $750."]}
    info = store.info(C, "auto.md")
    assert (info.origin, info.size, info.tags) == ("upload", 23, ())


def test_an_upload_that_cannot_be_read_is_told_and_ends_the_old_version(store, upload):
    upload("auto.pdf", RULE)
    (refused,) = upload("auto.pdf", "no pdf").refused
    assert (refused.name, refused.state, bool(refused.reason)) == ("auto.pdf", "refused", True)
    assert texts(store) == {}


def test_what_was_uploaded_before_is_known_by_bytes_and_tags(singles, upload):
    upload("auto.md", RULE, tags=("2024",))
    digest = hashlib.sha256(RULE.encode()).hexdigest()
    assert singles.is_stored("auto.md", digest, ("2024",), collection=C)
    assert not singles.is_stored("auto.md", digest, (), collection=C)
    assert not singles.is_stored("auto.md", "other", ("2024",), collection=C)
    assert not singles.is_stored("auto.md", digest, ("2024",), collection="nowhere")


def test_a_night_neither_removes_an_upload_nor_counts_it_as_lost(store, nightly, upload, folder):
    for number in range(9):
        upload(f"up{number}.md", RULE)
    nightly.ingest(folder, collection=C)
    (folder / "a.md").unlink()
    outcome = nightly.ingest(folder, collection=C)
    assert (outcome.removed, outcome.warnings, outcome.unchanged) == (1, (), 2)
    assert len(texts(store)) == 11


def test_a_name_that_both_have_is_told_and_changes_nothing(store, nightly, upload, folder):
    upload("a.md", RULE)
    outcome = nightly.ingest(folder, collection=C)
    assert [(refused.name, "rename the file" in refused.reason) for refused in outcome.refused] == [("a.md", True)]
    assert texts(store)["a.md"] == [RULE]
    with pytest.raises(NameTaken, match=r"'b\.md' is the name of a file in the collection's folder"):
        upload("b.md", RULE)
    assert texts(store)["b.md"] == ["Rule of b.md."]


def test_a_deleted_upload_is_gone(store, singles, upload):
    upload("auto.md", RULE)
    assert singles.delete("auto.md", collection=C).removed == 1
    assert singles.delete("auto.md", collection=C).removed == 0
    assert content(store, C) == {}
    with pytest.raises(UnknownCollection):
        singles.delete("auto.md", collection="nowhere")


def test_a_deleted_file_of_the_folder_stays_away_until_it_changes(store, singles, nightly, folder):
    nightly.ingest(folder, collection=C)
    assert singles.delete("a.md", collection=C).removed == 1
    assert singles.delete("a.md", collection=C).removed == 0
    outcome = nightly.ingest(folder, collection=C)
    assert [(one.name, one.state) for one in outcome.refused] == [("a.md", "deleted")]
    nightly.rebuild(folder, collection=C)
    (folder / "a.md").rename(folder / "renamed.md")
    nightly.ingest(folder, collection=C)
    assert set(texts(store)) == {"b.md", "c.md"}
    (folder / "renamed.md").write_text("Another rule.")
    assert nightly.ingest(folder, collection=C).changed == 1
    assert texts(store)["renamed.md"] == ["Another rule."]


def test_uploads_come_along_when_the_embedder_changes(store, nightly, upload, singles, other_embedder, folder):
    nightly.ingest(folder, collection=C)
    upload("auto.md", f"# Auto\n\n{RULE}", tags=("2024",))
    upload("gone.md", "To be deleted.")
    changing = IngestFlow(store=store, embedder=other_embedder)
    once = iter([False] * 4)
    with pytest.raises(IngestStopped):
        changing.ingest(folder, collection=C, stop=lambda: next(once, True))
    singles.delete("gone.md", collection=C)
    changing.ingest(folder, collection=C)
    found = content(store, C)
    assert set(found) == {"a.md", "b.md", "c.md", "auto.md"}
    (chunk,) = found["auto.md"].chunks
    assert (chunk.text, chunk.heading, found["auto.md"].info.tags) == (RULE, ("Auto",), ("2024",))
    assert np.allclose(found["auto.md"].vectors, other_embedder.embed_passages([chunk.embedded_text]), atol=1e-2)


def test_a_collection_of_uploads_alone_is_rebuilt_without_a_folder(store, upload, other_embedder):
    upload("auto.md", RULE)
    IngestFlow(store=store, embedder=other_embedder).rebuild(None, collection=C)
    assert store.generation(C).fingerprint == other_embedder.fingerprint
    assert texts(store) == {"auto.md": [RULE]}
    assert store.facts(C).folder == ""


def test_a_chunk_that_is_too_long_for_the_new_embedder_is_cut_where_it_stands(store, upload, folder, embedder):
    class Short:
        """The real embedder with a smaller limit."""

        max_tokens = 40

        def __getattr__(self, name: str):
            return getattr(embedder, name)

    text = " ".join(f"Sentence number {number} says that rule {number} holds." for number in range(12))
    upload("long.md", text)
    IngestFlow(store=store, embedder=Short()).ingest(folder, collection=C)
    chunks = content(store, C)["long.md"].chunks
    assert len(chunks) > 2
    assert all(text[chunk.start : chunk.end] == chunk.text for chunk in chunks)
    assert all(embedder.count_tokens(chunk.embedded_text) <= 40 for chunk in chunks)


def test_an_upload_by_a_worker_with_another_embedder_is_refused_with_the_remedy(
    store, nightly, other_embedder, folder
):
    nightly.ingest(folder, collection=C)
    with pytest.raises(EmbedderMismatch, match="python -m worker rebuild"):
        SingleFlow(store=store, embedder=other_embedder).upload(
            folder / "a.md", name="x.md", content_hash="", collection=C
        )


def test_a_deletion_reaches_workers_that_still_run_the_old_embedder(store, nightly, singles, other_embedder, folder):
    nightly.ingest(folder, collection=C)
    old = store.generation(C)
    IngestFlow(store=store, embedder=other_embedder).ingest(folder, collection=C)
    assert store.generation(C, fingerprint=old.fingerprint).id == old.id
    singles.delete("a.md", collection=C)
    with pytest.raises(EmbedderMismatch):
        store.generation(C, fingerprint=old.fingerprint)


def test_an_upload_stores_what_a_folder_with_the_same_file_would(store, nightly, upload, folder):
    nightly.ingest(folder, collection="folder")
    for file in folder.iterdir():
        upload(file.name, file.read_text())
    one, other = content(store, C), content(store, "folder")
    for name in one:
        assert one[name].chunks == other[name].chunks
        assert np.allclose(one[name].vectors, other[name].vectors, atol=1e-2)


# --- the bytes -----------------------------------------------------------------------------------


def test_bytes_are_lent_as_a_file_and_forgotten_when_all_went_well(store):
    data = bytes(range(256)) * 10_000
    store.database.client.set(UPLOAD_PREFIX + "id", data)
    digest = hashlib.sha256(data).hexdigest()
    claims = Claims(store.database)
    with claims.claimed("id", name="a/b.pdf", size=len(data), sha256=digest) as path:
        assert path.read_bytes() == data
        assert path.suffix == ".pdf"
        assert store.database.exists(UPLOAD_PREFIX + "id")
    assert not path.exists()
    assert not store.database.exists(UPLOAD_PREFIX + "id")


class ReadingFailed(Exception):
    pass


def test_bytes_stay_for_another_try_where_it_went_wrong(store):
    store.database.client.set(UPLOAD_PREFIX + "id", b"text")

    def fail() -> None:
        digest = hashlib.sha256(b"text").hexdigest()
        with Claims(store.database).claimed("id", name="a.txt", size=4, sha256=digest):
            raise ReadingFailed

    with pytest.raises(ReadingFailed):
        fail()
    assert store.database.exists(UPLOAD_PREFIX + "id")


@pytest.mark.parametrize("stored", [None, b"texT", b"text and more"])
def test_bytes_that_are_gone_or_others_are_lost(store, stored):
    if stored is not None:
        store.database.client.set(UPLOAD_PREFIX + "id", stored)
    lent = Claims(store.database).claimed("id", name="a.txt", size=4, sha256=hashlib.sha256(b"text").hexdigest())
    with pytest.raises(UploadLost, match=r"a\.txt: .* send the document again"):
        lent.__enter__()
