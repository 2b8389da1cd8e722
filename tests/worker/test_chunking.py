"""Chunks: exact slices of a document, about a paragraph each, never longer than the embedder reads."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.chunking import chunk_document
from worker.documents.blocks import Block, assemble
from worker.documents.limits import Limits
from worker.records import Chunk, Document


def words(text: str) -> int:
    """Count as a whitespace tokenizer with two special tokens would."""
    return len(text.split()) + 2


def document(*blocks: Block | str) -> Document:
    return assemble((Block(one) if isinstance(one, str) else one for one in blocks), limits=Limits())


def cut(made: Document, most: int = 30) -> list[Chunk]:
    return chunk_document(made, count_tokens=words, max_tokens=most)


SENTENCES = [f"Sentence number {number} has exactly eight words inside." for number in range(1, 9)]


def test_short_paragraphs_of_one_section_share_a_chunk_until_it_is_half_full():
    chunks = cut(document("One two three.", "Four five six.", " ".join(["word"] * 14) + ".", "Seven."))
    assert [chunk.text.split()[0] for chunk in chunks] == ["One", "Seven."]


def test_a_long_paragraph_is_cut_between_sentences_into_even_parts():
    chunks = cut(document(" ".join(SENTENCES)))
    assert " ".join(chunk.text for chunk in chunks) == " ".join(SENTENCES)
    assert sorted(chunk.text.count("Sentence") for chunk in chunks) == [2, 3, 3]


def test_abbreviations_do_not_end_a_sentence():
    text = "The rule of Sec. 401(k) of the U.S. Code is old. " * 4
    assert all(chunk.text.endswith("old.") for chunk in cut(document(text), 16))


def test_a_paragraph_that_fits_alone_is_not_cut_to_fill_the_one_before():
    first, second = " ".join(["a"] * 12) + ".", " ".join(["b"] * 25) + "."
    assert [chunk.text for chunk in cut(document(first, second))] == [first, second]


def test_what_a_colon_introduces_stays_with_it():
    intro = " ".join(["word"] * 16) + " as follows:"
    (chunk,) = cut(document(intro, "- the first", "- the second"), 30)
    assert chunk.text.endswith("- the first\n\n- the second")


def test_a_table_is_cut_between_its_rows():
    rows = [f"Age: {age} | Years of distribution: {100 - age}" for age in range(20)]
    chunks = cut(document(Block("\n".join(rows), kind="table")))
    assert [row for chunk in chunks for row in chunk.text.split("\n")] == rows


def test_a_row_that_is_too_long_is_cut_between_its_cells():
    row = " | ".join(f"Column {number}: value {number}" for number in range(20))
    chunks = cut(document(Block(row, kind="table")))
    assert " ".join(chunk.text for chunk in chunks) == row
    assert all(chunk.text.startswith("Column") for chunk in chunks)


def test_chunks_keep_to_one_heading_and_carry_it_without_quoting_it():
    made = document(Block("Fees", level=1), "We charge.", Block("Custody", level=1), "We do not hold money.")
    chunks = cut(made)
    assert [(chunk.heading, chunk.text) for chunk in chunks] == [
        (("Fees",), "We charge."),
        (("Custody",), "We do not hold money."),
    ]
    assert chunks[0].embedded_text == "Fees\nWe charge."


def test_headings_that_would_fill_a_chunk_are_dropped_outermost_first():
    long = " ".join(["outer"] * 20)
    made = document(Block(long, level=1), Block("Inner", level=2), "The text below.")
    assert [chunk.heading for chunk in cut(made)] == [("Inner",)]


def test_a_chunk_has_the_page_and_the_place_where_it_begins():
    made = document(
        Block("On the first page the sentence", page=1),
        Block("ends on the second.", page=2, continues=True),
        Block("Another one.", page=2),
        Block("In an attachment.", location='attachment "a.csv", row 2'),
    )
    assert [(chunk.page, chunk.location, chunk.text) for chunk in cut(made)] == [
        (1, "", "On the first page the sentence ends on the second."),
        (2, "", "Another one."),
        (None, 'attachment "a.csv", row 2', "In an attachment."),
    ]


def test_a_word_longer_than_a_chunk_is_cut_inside():
    chunks = chunk_document(document("x" * 1000), count_tokens=len, max_tokens=64)
    assert "".join(chunk.text for chunk in chunks) == "x" * 1000
    assert max(len(chunk.text) for chunk in chunks) <= 64


def test_what_holds_no_letter_or_digit_becomes_no_chunk():
    made = Document("* * *\n\nText.", document("A").sections[:0])
    assert cut(made) == []


def test_no_room_for_text_is_an_error():
    with pytest.raises(ValueError, match="max_tokens=3"):
        cut(document("Text."), 3)


PARAGRAPHS = st.lists(
    st.builds(
        Block,
        st.text(st.sampled_from("ab é.,;:|\n漢🙂"), min_size=1, max_size=300),
        level=st.sampled_from([0, 0, 0, 1, 2]),
        kind=st.sampled_from(["text", "table"]),
        page=st.sampled_from([None, 1, 2]),
        continues=st.booleans(),
    ),
    min_size=1,
    max_size=12,
)


@given(blocks=PARAGRAPHS, most=st.integers(4, 60))
def test_every_chunk_is_an_exact_slice_within_the_limit_and_nothing_is_lost(blocks, most):
    made = document("Some text.", *blocks)
    chunks = cut(made, most)
    for chunk in chunks:
        assert chunk.text == made.text[chunk.start : chunk.end]
        assert chunk.text == chunk.text.strip() != ""
        assert words(chunk.embedded_text) <= most
    assert all(before.end <= after.start for before, after in pairwise(chunks))
    told = "".join(chunk.text for chunk in chunks)
    assert sorted(filter(str.isalnum, told)) == sorted(filter(str.isalnum, made.text))


def test_the_real_tokenizer_agrees(embedder):
    text = " ".join(
        f"The limit for the year {year} is ${year * 7:,} a person, see Sec. {year}(a)." for year in range(200)
    )
    chunks = chunk_document(document(text), count_tokens=embedder.count_tokens, max_tokens=embedder.max_tokens)
    counts = [embedder.count_tokens(chunk.embedded_text) for chunk in chunks]
    assert max(counts) <= embedder.max_tokens
    assert min(counts) > embedder.max_tokens / 2


def test_time_grows_with_the_length_of_the_text_and_not_with_its_square():
    def seconds(count: int) -> float:
        made = document(*[" ".join(SENTENCES)] * count)
        start = time.process_time()
        cut(made)
        return time.process_time() - start

    assert min(seconds(3200) for _ in range(4)) < 3 * min(seconds(1600) for _ in range(4))
