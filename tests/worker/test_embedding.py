"""The real bundled model, offline."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer

from worker.embedding import Embedder, _batches, bundled_model
from worker.errors import EmbeddingError, SettingError

TEXTS = [
    "The deductible is what you pay before the plan pays.",
    "Vesting decides how much of the employer's contributions is yours when you leave.",
    "A Roth IRA takes contributions that were taxed already.",
    "Zimt",
    "Required minimum distributions begin at a certain age. " * 60,
]


def changed_copy(folder: Path, file: str, **changes: object) -> Path:
    """The bundled model in another folder, with one JSON file changed."""
    copy = folder / "model"
    shutil.copytree(bundled_model(), copy)
    settings = json.loads((copy / file).read_text())
    (copy / file).write_text(json.dumps({**settings, **changes}))
    return copy


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    """In float32: what is compared here to the last digit must not depend on the processor."""
    return Embedder(device="cpu", dtype="float32")


@pytest.fixture(scope="module")
def published() -> np.ndarray:
    return SentenceTransformer(str(bundled_model()), device="cpu").encode(TEXTS, normalize_embeddings=True)


def test_vectors_are_float32_of_length_one_and_those_of_the_published_model(
    embedder: Embedder, published: np.ndarray
):
    vectors = embedder.embed_passages(TEXTS)
    assert (vectors.dtype, vectors.shape) == (np.float32, (len(TEXTS), embedder.dimension))
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(vectors, published, atol=1e-6)


@pytest.mark.parametrize("dtype", ["auto", "bfloat16"])
def test_a_faster_number_format_gives_nearly_the_same_vectors_and_threshold(dtype, embedder, published):
    faster = Embedder(device="cpu", dtype=dtype)
    vectors = faster.embed_passages(TEXTS)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert (vectors * published).sum(axis=1).min() > 0.999
    assert faster.embed_query("Zimt") @ embedder.embed_query("Zimt") > 0.999
    assert faster.min_score == pytest.approx(embedder.min_score, abs=0.005)


def test_neither_the_number_format_nor_the_order_of_a_batch_calls_for_a_rebuild(embedder: Embedder):
    faster = Embedder(device="cpu", dtype="bfloat16")
    assert faster.fingerprint == embedder.fingerprint
    together, alone = faster.embed_passages(TEXTS), [faster.embed_passages([text])[0] for text in TEXTS]
    assert (together * np.stack(alone)).sum(axis=1).min() > 0.999


def test_order_is_kept_and_no_text_gives_no_vectors(embedder: Embedder):
    together = embedder.embed_passages(TEXTS)
    for text, vector in zip(TEXTS, together, strict=True):
        np.testing.assert_allclose(embedder.embed_passages([text])[0], vector, atol=1e-6)
    assert embedder.embed_passages([]).shape == (0, embedder.dimension)


@given(lengths=st.lists(st.integers(1, 300), max_size=60))
def test_batches_hold_every_text_once_and_only_texts_of_like_length(lengths: list[int]):
    batches = list(_batches(lengths, 1000))
    assert sorted(place for batch in batches for place in batch) == list(range(len(lengths)))
    for batch in batches:
        found = [lengths[place] for place in batch]
        assert max(found) * len(found) <= 1000
        assert min(found) >= 0.8 * max(found)


def test_a_question_is_near_the_passage_that_answers_it(embedder: Embedder):
    scores = embedder.embed_passages(TEXTS) @ embedder.embed_query("How much of the match can I keep if I quit?")
    assert scores.argmax() == 1


def test_questions_of_many_threads_each_get_their_own_vector(embedder: Embedder):
    expected = embedder.embed_queries(TEXTS)
    got: dict[int, np.ndarray] = {}

    def ask(number: int) -> None:
        got[number] = embedder.embed_query(TEXTS[number % len(TEXTS)])

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, vector in got.items():
        np.testing.assert_allclose(vector, expected[number % len(TEXTS)], atol=1e-6)


def test_a_passage_of_max_tokens_is_read_to_its_last_word_and_no_further(embedder: Embedder):
    words = ["plan"] * embedder.max_tokens
    full = " ".join(words)
    assert embedder.count_tokens(full) == embedder.max_tokens
    vector, other_end, beyond = embedder.embed_passages([full, " ".join([*words[:-1], "tax"]), full + " tax"])
    assert not np.allclose(vector, other_end, atol=1e-4)
    np.testing.assert_allclose(vector, beyond, atol=1e-6)


def test_prompts_precede_the_texts_and_take_their_room(embedder: Embedder):
    prompted = Embedder(device="cpu", dtype="float32", query_prompt="query: ", passage_prompt="passage: ")
    np.testing.assert_allclose(prompted.embed_query("Zimt"), embedder.embed_query("query: Zimt"), atol=1e-6)
    passages = embedder.embed_passages(["passage: Zimt"])
    np.testing.assert_allclose(prompted.embed_passages(["Zimt"]), passages, atol=1e-6)
    assert prompted.max_tokens == embedder.max_tokens - 2


def test_a_models_own_prompts_are_taken(tmp_path: Path, embedder: Embedder):
    own = {"query": "search: ", "document": ""}
    model = changed_copy(tmp_path, "config_sentence_transformers.json", prompts=own)
    np.testing.assert_allclose(
        Embedder(model, device="cpu", dtype="float32").embed_query("Zimt"),
        embedder.embed_query("search: Zimt"),
        atol=1e-6,
    )


def test_the_fingerprint_is_stable_and_changes_with_all_that_changes_vectors(tmp_path: Path, embedder: Embedder):
    variants = [
        Embedder(device="cpu", query_prompt="query: "),
        Embedder(device="cpu", passage_prompt="passage: "),
        Embedder(changed_copy(tmp_path / "a", "sentence_bert_config.json", max_seq_length=128), device="cpu"),
        Embedder(
            changed_copy(
                tmp_path / "b", "1_Pooling/config.json", pooling_mode_mean_tokens=False, pooling_mode_cls_token=True
            ),
            device="cpu",
        ),
    ]
    prints = [embedder.fingerprint, *(variant.fingerprint for variant in variants)]
    assert len(set(prints)) == len(prints)
    assert Embedder(device="cpu").fingerprint == embedder.fingerprint


def test_a_model_with_broken_weights_gives_an_error_and_no_vectors(tmp_path: Path):
    model = changed_copy(tmp_path, "config.json")
    weights = load_file(model / "model.safetensors")
    weights["embeddings.LayerNorm.weight"].fill_(float("nan"))
    save_file(weights, model / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(EmbeddingError, match="1 zero, NaN or infinite vectors of 1"):
        Embedder(model, device="cpu").embed_query("tax")


@pytest.mark.parametrize("setting", [{"device": "tpu"}, {"dtype": "int3"}])
def test_an_unknown_setting_is_refused_by_its_name(setting: dict[str, str]):
    with pytest.raises(SettingError, match=next(iter(setting.values()))):
        Embedder(**setting)  # type: ignore[arg-type]


def test_a_model_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(EmbeddingError, match="no-such-model"):
        Embedder(tmp_path / "no-such-model", device="cpu")


def test_it_works_without_network_and_without_a_home(tmp_path: Path):
    """A fresh process that is told to stay offline, with an empty cache."""
    code = "from worker.embedding import Embedder; print(Embedder(device='cpu').embed_query('tax').shape)"
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HOME": str(tmp_path), "HF_HOME": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert run.stdout.strip() == "(384,)"
