"""Names made of figures or capitals in a question, and the chunks that hold them, best first by BM25.

An embedder sees little difference between `Form 5329` and `Form 5498`; here they are words like any other. Names that
many chunks share (`401(k)`, the current year) say nothing that the vectors do not say better, so they are not used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

import tantivy

# Words joined by what stands inside names: 415(c)(1), 8955-SSA, T.D., 26/408A, 23,500.
_JOINED: Final = re.compile(r"[^\W_]+(?:(?:[().\-/&]+|(?<=\d),(?=\d{3}))[^\W_]+)*")
_WORD: Final = re.compile(r"[^\W_]+")
_TICKER: Final = re.compile(r"[A-Z]{2,6}")
# A name in more chunks than this is a subject, not a reference.
_RARE: Final = 50
_WRITER_BYTES: Final = 15_000_000

Place = tuple[int, int]
"""A document's number and a chunk's ordinal."""


class NameIndex:
    """The names in the chunks of a collection, in memory; must not be changed while it is searched."""

    def __init__(self) -> None:
        builder = tantivy.SchemaBuilder()
        builder.add_unsigned_field("document", stored=True, indexed=True)
        builder.add_unsigned_field("ordinal", stored=True)
        builder.add_text_field("names", index_option="position")
        self._schema = builder.build()
        self._index = tantivy.Index(self._schema)
        self._writer = self._index.writer(heap_size=_WRITER_BYTES, num_threads=1)
        self._committed = True

    def put(self, document: int, texts: Iterable[str]) -> None:
        """Take up the chunks of a document in place of those it had."""
        self.remove(document)
        for ordinal, text in enumerate(texts):
            names = list(names_in(text))
            if names:
                self._writer.add_document(_entry(document, ordinal, names))

    def remove(self, document: int) -> None:
        """Forget a document."""
        this = tantivy.Query.term_query(self._schema, "document", document)
        self._writer.delete_documents_by_query(this)
        self._committed = False

    def search(self, question: str) -> list[Place]:
        """Return the chunks that hold a rare name of the question, best first."""
        self._commit()
        searcher = self._index.searcher()
        queries = [self._query(name) for name in names_in(question)]
        rare = [query for query in queries if len(searcher.search(query, limit=_RARE + 1).hits) <= _RARE]
        if not rare:
            return []
        either = tantivy.Query.boolean_query([(tantivy.Occur.Should, query) for query in rare])
        hits = searcher.search(either, limit=_RARE * len(rare)).hits
        entries = [(score, searcher.doc(address)) for score, address in hits]
        places = [(-score, int(entry["document"][0]), int(entry["ordinal"][0])) for score, entry in entries]
        return [(document, ordinal) for _, document, ordinal in sorted(places)]

    def _query(self, name: str) -> tantivy.Query:
        words = name.split()
        if len(words) == 1:
            return tantivy.Query.term_query(self._schema, "names", name)
        return tantivy.Query.phrase_query(self._schema, "names", [*words])

    def _commit(self) -> None:
        if not self._committed:
            self._writer.commit()
            self._index.reload()
            self._committed = True


def _entry(document: int, ordinal: int, names: list[str]) -> tantivy.Document:
    entry = tantivy.Document()
    entry.add_unsigned("document", document)
    entry.add_unsigned("ordinal", ordinal)
    for name in names:
        entry.add_text("names", name)
    return entry


def names_in(text: str) -> Iterator[str]:
    """Yield what looks like the name of a form, a section, a product or a security: its words, in lower case."""
    for match in _JOINED.finditer(text):
        word = match.group()
        figures = any(map(str.isdigit, word))
        # A one- or two-digit number alone is an age or a percentage.
        if (figures and len(word) > 2) or (_TICKER.fullmatch(word) and not text.isupper()):
            yield " ".join(_WORD.findall(word.lower()))
