"""An answer as Markdown and HTML: readable, and nothing in it becomes markup or a link."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from producer.contract import Answer, Source

ANSWER = Answer(
    question_id="q",
    text="The deductible is $500.\n\nIt applies per collision.",
    sources=(Source(name="auto.pdf", page=3, heading=("Auto", "Collision"), quote="The deductible is $500."),),
    sources_line="Sources: auto.pdf",
)
HOSTILE = [
    "[click](https://evil.example)",
    "![pixel](https://evil.example/p.png)",
    "see https://evil.example or www.evil.example or a@evil.example",
    "<script>alert(1)</script>",
    "<https://evil.example>",
    "[a]: https://evil.example\n\n[a]",
    "# A heading\n- a list\n1. another\n> a quotation\n---\n    code\n```\nmore\n```",
    "a | b\n--|--\n1 | 2",
    "&lt;b&gt; &#91;",
    "`code` *a* __b__ ~~c~~ \\",
    "a\n===\nb\n---",
]


def answer_of(text: str) -> Answer:
    return Answer(question_id="q", text=text, sources=(Source(name=text.replace("\n", " "), quote=text),))


class Page(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]

    def handle_data(self, data: str) -> None:
        self.text += data


def rendered(markdown: str) -> Page:
    return Page(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown))


def words(text: str) -> list[str]:
    return text.split()


def test_markdown_holds_the_answer_each_document_its_place_and_its_words():
    assert ANSWER.to_markdown() == (
        "The deductible is \\$500.\n\nIt applies per collision.\n\n"
        "**auto.pdf** (page 3, Auto \\> Collision)\n\n> The deductible is \\$500."
    )


def test_html_holds_the_same():
    assert ANSWER.to_html() == (
        "<p>The deductible is $500.</p>\n<p>It applies per collision.</p>\n"
        "<ul>\n<li><cite>auto.pdf</cite> (page 3, Auto &gt; Collision)"
        "<blockquote>The deductible is $500.</blockquote></li>\n</ul>"
    )


def test_an_answer_without_sources_lists_none():
    answer = Answer(question_id="q", text="I don't have an answer for you.", abstained=True)
    assert answer.to_html() == "<p>I don&#x27;t have an answer for you.</p>"
    assert answer.to_markdown() == "I don't have an answer for you."


@pytest.mark.parametrize("text", HOSTILE)
def test_what_looks_like_markup_stays_text_in_markdown(text):
    page = rendered(answer_of(text).to_markdown())
    assert page.tags <= {"p", "strong", "blockquote", "br"}
    assert page.links == []
    assert words(page.text)[: len(words(text))] == words(text)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_address_is_left_that_a_page_would_link_by_itself(text):
    """GitHub's dialect makes links of bare addresses; each stands with a backslash in it."""
    assert not re.search(r"https?://|www\.|\w@\w", answer_of(text).to_markdown())


@pytest.mark.parametrize("text", HOSTILE)
def test_what_looks_like_markup_stays_text_in_html(text):
    page = Page(answer_of(text).to_html())
    assert page.tags <= {"p", "ul", "li", "cite", "blockquote", "br"}
    assert page.links == []


@given(
    st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=80).filter(
        str.strip
    )
)
def test_any_text_stays_text(text):
    answer = answer_of(text)
    assert Page(answer.to_html()).tags <= {"p", "ul", "li", "cite", "blockquote", "br"}
    assert rendered(answer.to_markdown()).tags <= {"p", "strong", "blockquote", "br"}


def test_only_sources_are_linked_and_only_where_the_app_says_so():
    page = Page(ANSWER.to_html(link=lambda name: f"https://docs.example/{name}"))
    assert page.links == ["https://docs.example/auto.pdf"]
    assert Page(ANSWER.to_html(link=lambda name: None)).links == []


@pytest.mark.parametrize("target", ["javascript:alert(1)", "//evil.example", "data:text/html,x", "ftp://x"])
def test_a_link_that_no_page_should_follow_is_refused(target):
    with pytest.raises(ValueError, match=r"auto\.pdf"):
        ANSWER.to_html(link=lambda name: target)


def test_a_links_target_cannot_leave_its_attribute():
    page = Page(ANSWER.to_html(link=lambda name: '/x"onclick="alert(1)'))
    assert page.links == ['/x"onclick="alert(1)']
