"""An answer in, Markdown or HTML out: nothing that a model or a document wrote becomes markup or a link."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from typing import Protocol

# What CommonMark or GitHub's dialect acts upon wherever it stands; the last three make bare links and addresses.
_ACTIVE = re.compile(r"([\\`*_{}\[\]<>|~#!&$]|(?<=\w):(?=//)|(?<=www)\.|(?<=\w)@)", re.IGNORECASE)
# What opens a list, a heading or a rule at the head of a line; indents would make code.
_LINE_HEAD = re.compile(r"^[ \t]*(?:([-+=])|(\d+)([.)]))?", re.MULTILINE)
_SAFE_LINK = re.compile(r"(https?://|/(?!/))", re.IGNORECASE)


class Cited(Protocol):
    """What is rendered of a source."""

    @property
    def name(self) -> str:
        """The document."""
        ...

    @property
    def page(self) -> int | None:
        """The page, from 1."""
        ...

    @property
    def location(self) -> str:
        """A place in formats without pages."""
        ...

    @property
    def heading(self) -> tuple[str, ...]:
        """The headings above the quote."""
        ...

    @property
    def quote(self) -> str:
        """The sentence that carries the statement."""
        ...


def place_of(source: Cited) -> str:
    """Return where a quote stands, as a person says it: `page 3, Auto > Collision`; "" where nothing is known."""
    page = f"page {source.page}" if source.page else ""
    return ", ".join(filter(None, (page, source.location, " > ".join(source.heading))))


def markdown_of(text: str, sources: Sequence[Cited]) -> str:
    """Return the answer and, below it, each source with its quotation."""
    return "\n\n".join([_escaped(text), *map(_markdown_source, sources)])


def _markdown_source(source: Cited) -> str:
    where = f" ({_escaped(place_of(source))})" if place_of(source) else ""
    quote = "".join(f"\n> {line}" for line in _escaped(source.quote).splitlines())
    return f"**{_escaped(source.name)}**{where}" + (f"\n{quote}" if quote else "")


def _escaped(text: str) -> str:
    return _LINE_HEAD.sub(_harmless_head, _ACTIVE.sub(r"\\\1", text.strip()))


def _harmless_head(match: re.Match[str]) -> str:
    sign, number, point = match.groups()
    if sign:
        return f"\\{sign}"
    return f"{number}\\{point}" if number else ""


def html_of(text: str, sources: Sequence[Cited], link: Callable[[str], str | None] | None) -> str:
    """Return the answer as HTML; raises ValueError where `link` gives what no page should follow."""
    paragraphs = [f"<p>{_lines(part)}</p>" for part in re.split(r"\n\s*\n", text.strip())]
    if not sources:
        return "\n".join(paragraphs)
    items = "\n".join(f"<li>{_html_source(source, link)}</li>" for source in sources)
    return "\n".join([*paragraphs, f"<ul>\n{items}\n</ul>"])


def _html_source(source: Cited, link: Callable[[str], str | None] | None) -> str:
    name, target = html.escape(source.name), link(source.name) if link else None
    if target and not _SAFE_LINK.match(target):
        raise ValueError(f"the link for {source.name!r} is neither http(s):// nor a path of this site")
    cited = f'<a href="{html.escape(target)}"><cite>{name}</cite></a>' if target else f"<cite>{name}</cite>"
    where = f" ({html.escape(place_of(source))})" if place_of(source) else ""
    quote = f"<blockquote>{_lines(source.quote)}</blockquote>" if source.quote else ""
    return cited + where + quote


def _lines(text: str) -> str:
    return "<br>".join(map(html.escape, text.splitlines()))
