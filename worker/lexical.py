"""A question's words in, the chunks that share them out, scored by BM25; names of things are matched apart.

An embedder sees little difference between `Form 5329` and `Form 5498`: so words made of figures or capitals are also
looked up as they stand. A name that many chunks share (`401(k)`, the current year) is a subject, not a reference, and
is left to the words and the vectors. BM25 is tantivy's (k1 1.2, b 0.75); its word counts include removed chunks until
tantivy merges them away.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import tantivy

# Words joined by what stands inside names: 415(c)(1), 8955-SSA, T.D., 26/408A, 23,500.
_JOINED: Final = re.compile(r"[^\W_]+(?:(?:[().\-/&]+|(?<=\d),(?=\d{3}))[^\W_]+)*")
_WORD: Final = re.compile(r"[^\W_]+")
_TICKER: Final = re.compile(r"[A-Z]{2,6}")
# A name in more chunks than this, or in more than this share of a small collection's, is a subject.
_RARE: Final = 50
_RARE_SHARE: Final = 0.02
# However small the collection is: what stands in so few chunks is worth looking up.
_FEW: Final = 3
_WRITER_BYTES: Final = 50_000_000

Scored = tuple[float, int, int]
"""A BM25 score, a document's number and a chunk's ordinal."""


class LexicalIndex:
    """The words of a collection's chunks, in memory; must not be changed while it is searched."""

    def __init__(self) -> None:
        builder = tantivy.SchemaBuilder()
        builder.add_unsigned_field("document", stored=True, indexed=True)
        builder.add_unsigned_field("ordinal", stored=True)
        builder.add_text_field("words", tokenizer_name="en_stem", index_option="freq")
        builder.add_text_field("names", index_option="position")
        self._schema = builder.build()
        self._index = tantivy.Index(self._schema)
        self._writer = self._index.writer(heap_size=_WRITER_BYTES, num_threads=1)
        self._committed = True

    def put(self, document: int, texts: Iterable[str]) -> None:
        """Take up the chunks of a document that has none here, by their ordinals from 0."""
        for ordinal, text in enumerate(texts):
            entry = tantivy.Document()
            entry.add_unsigned("document", document)
            entry.add_unsigned("ordinal", ordinal)
            entry.add_text("words", text)
            for name in names_in(text):
                entry.add_text("names", name)
            self._writer.add_document(entry)
        self._committed = False

    def remove(self, document: int) -> None:
        """Forget the chunks of a document."""
        this = tantivy.Query.term_query(self._schema, "document", document)
        self._writer.delete_documents_by_query(this)
        self._committed = False

    def by_words(self, question: str, most: int, documents: Sequence[int] | None = None) -> list[Scored]:
        """Return the `most` best chunks for the words of the question, of the given documents only, in no order."""
        # Without capitals and signs, nothing of a question is taken for an operator of the query language.
        query, _ = self._index.parse_query_lenient(" ".join(_WORD.findall(question.lower())), ["words"])
        if documents is not None:
            among = tantivy.Query.term_set_query(self._schema, "document", list(documents))
            filtered = tantivy.Query.const_score_query(among, 0.0)
            query = tantivy.Query.boolean_query([(tantivy.Occur.Must, query), (tantivy.Occur.Must, filtered)])
        return self._search(query, most)

    def by_names(self, question: str) -> list[Scored]:
        """Return every chunk that holds a rare name of the question, in no order."""
        most = self._most_of_a_rare_name()
        queries = [self._name(name) for name in names_in(question)]
        rare = [query for query in queries if len(self._search(query, most + 1)) <= most]
        if not rare:
            return []
        either = tantivy.Query.boolean_query([(tantivy.Occur.Should, query) for query in rare])
        return self._search(either, most * len(rare))

    def _most_of_a_rare_name(self) -> int:
        self._commit()
        return min(_RARE, max(_FEW, int(_RARE_SHARE * self._index.searcher().num_docs)))

    def _search(self, query: tantivy.Query, most: int) -> list[Scored]:
        self._commit()
        searcher = self._index.searcher()
        found = ((score, searcher.doc(address)) for score, address in searcher.search(query, limit=most).hits)
        return [(score, int(entry["document"][0]), int(entry["ordinal"][0])) for score, entry in found]

    def _name(self, name: str) -> tantivy.Query:
        words = name.split()
        if len(words) == 1:
            return tantivy.Query.term_query(self._schema, "names", name)
        return tantivy.Query.phrase_query(self._schema, "names", [*words])

    def _commit(self) -> None:
        if not self._committed:
            self._writer.commit()
            self._index.reload()
            self._committed = True


def names_in(text: str) -> Iterator[str]:
    """Yield what looks like the name of a form, a section, a product or a security: its words, in lower case."""
    shouted = text.isupper()
    for match in _JOINED.finditer(text):
        word = match.group()
        figures = any(map(str.isdigit, word))
        # A one- or two-digit number alone is an age or a percentage.
        if (figures and len(word) > 2) or (_TICKER.fullmatch(word) and not shouted):
            yield " ".join(_WORD.findall(word.lower()))
