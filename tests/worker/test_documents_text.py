"""Text, Markdown, HTML, CSV and JSON files: what a person reads in them, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from worker.documents import read_document
from worker.errors import DocumentRefused, NothingToIndex
from worker.records import Document, Section


@pytest.fixture
def read(tmp_path: Path):
    """Read bytes or text as if they were a file of that name."""

    def read_as(name: str, content: str | bytes) -> Document:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_document(path)

    return read_as


def text_of(document: Document, section: Section) -> str:
    return document.text[section.start : section.end]


def headings(document: Document) -> dict[tuple[str, ...], str]:
    return {section.heading: text_of(document, section) for section in document.sections}


# --- plain text --------------------------------------------------------------------------------


def test_a_line_in_capitals_is_the_heading_of_what_follows(read):
    document = read("fund.txt", "EMERGENCY FUND\n\nKeep cash.\n\nHOW MUCH\n\nThree months.\n")
    assert headings(document) == {
        ("EMERGENCY FUND",): "Keep cash.",
        ("EMERGENCY FUND", "HOW MUCH"): "Three months.",
    }
    assert document.title == "EMERGENCY FUND"


def test_a_heading_with_nothing_below_it_stays_as_text(read):
    assert read("a.md", "# Total\n\n# Notes\n\nNone.\n\n# End").text == "Total\n\nNone.\n\nEnd"


@pytest.mark.parametrize(
    ("written", "read_back"),
    [
        ("e\ufb03cient o\ufb03ces", "efficient offices"),
        ("retire\u00adment", "retirement"),
        ("$7,000\u00a0a\u202fyear", "$7,000 a year"),
        ("zero\u200bwidth \u202ebidi\u202c", "zerowidth bidi"),
        ("401(k)\u2011plan", "401(k)-plan"),
        ("cafe\u0301", "café"),
        ("10\u00b2 and 70\u00bd", "10² and 70½"),
        ("a\x00b\x07c " + "d" * 300, "abc " + "d" * 300),
    ],
)
def test_what_hides_or_reorders_words_is_folded_and_what_means_something_is_kept(read, written, read_back):
    assert read("a.txt", written).text == read_back


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-8-sig", "The deductible is €500."),
        ("utf-16", "The deductible is €500."),
        ("utf-16-le", "The deductible is 500 dollars, and the limit is higher."),
        ("utf-16-be", "The deductible is 500 dollars, and the limit is higher."),
        ("utf-32", "The deductible is €500."),
        ("utf-32-le", "The deductible is 500 dollars."),
        ("cp1252", "Der Selbstbehalt beträgt 500 €. Für Schäden über 1.000 € gilt die höhere Summe."),
        ("cp1253", "Η ελληνική αποτελεί τη μητρική γλώσσα περίπου δώδεκα εκατομμυρίων ανθρώπων. " * 3 + "Τέλος."),
        ("big5", "維基大典者，網路為礎；集天下知、四海言、眾人志，書百科焉。始作者，維基媒體基金會也。"),
        ("cp932", "名前、年齢、住所。佐藤太郎は東京に住んでいます。三木英子は大阪に住んでいます。"),
    ],
)
def test_text_is_read_whatever_its_encoding(read, encoding, text):
    assert read("a.txt", text.encode(encoding)).text == text


def test_doubly_encoded_text_is_put_right(read):
    assert read("a.txt", "Le café coûte 3 €.".encode().decode("cp1252").encode()).text == "Le café coûte 3 €."


def test_a_paragraph_whose_characters_are_lost_is_left_out(read):
    text = "A good line.\n\n\ufffd\ufffd\ufffd word \ufffd\ufffd\n\nAnother."
    assert read("a.txt", text).text == "A good line.\n\nAnother."


def test_one_lost_letter_costs_itself_and_one_lost_digit_its_paragraph(read):
    kept = "The company\ufffds limit " + "is written down " * 9 + "here."
    dropped = "It is $7\ufffd00 " + "or more " * 20 + "a year."
    assert read("a.txt", f"{kept}\n\n{dropped}").text == kept.replace("\ufffd", "")


def test_a_row_of_mojibake_does_not_cost_its_table(read):
    text = "year,limit\nY1,500\nY2,\ufffd\ufffd\nY3,700\n"
    assert read("a.csv", text).text == "year: Y1 | limit: 500\nyear: Y3 | limit: 700"


def test_a_binary_file_under_a_text_name_is_refused(read):
    with pytest.raises(DocumentRefused, match="not text"):
        read("a.txt", bytes(range(1, 32)) * 40)


@pytest.mark.parametrize("content", ["", " \n\t ", "----\n\n****"])
def test_a_file_without_a_letter_or_digit_has_nothing_to_index(read, content):
    with pytest.raises(NothingToIndex):
        read("a.txt", content)


@pytest.mark.parametrize("name", ["a.bin", "noname", "a.exe"])
def test_an_unknown_format_is_refused_with_a_remedy(read, name):
    with pytest.raises(DocumentRefused, match=r"unsupported format.*convert"):
        read(name, "text")


@pytest.mark.parametrize("name", ["a.doc", "a.ppt", "a.wpd"])
def test_an_old_format_is_refused_with_the_new_one(read, name):
    with pytest.raises(DocumentRefused, match="save it as"):
        read(name, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 old")


def test_a_file_is_read_by_its_content_where_its_name_lies(read):
    assert read("report.doc", r"{\rtf1\ansi The limit is $7,000.\par}").text == "The limit is $7,000."
    assert read("report.xls", "<html><body><p>The limit is $7,000.</p></body></html>").text == "The limit is $7,000."


# --- Markdown ----------------------------------------------------------------------------------


def test_markdown_becomes_an_outline_and_rows_with_their_column_names(read):
    document = read(
        "limits.md",
        "---\nauthor: x\n---\n# Limits\n\nIntro.\n\n## IRA\n\n"
        "| Limit | 2025 |\n|---|---|\n| IRA | $7,000 |\n\n- one\n- two\n",
    )
    assert [(section.heading, section.kind, text_of(document, section)) for section in document.sections] == [
        (("Limits",), "text", "Intro."),
        (("Limits", "IRA"), "table", "Limit: IRA | 2025: $7,000"),
        (("Limits", "IRA"), "text", "- one\n\n- two"),
    ]


def test_scripts_and_embedded_images_in_markdown_are_no_text(read):
    document = read("a.md", "Text.\n\n![x](data:image/gif;base64,R0lGODlhAQAB)\n\n<script>\nvar a = 1;\n</script>\n")
    assert document.text == "Text."


# --- HTML --------------------------------------------------------------------------------------

PAGE = """<html><head><title>Vesting | Agency</title><style>p {}</style></head><body>
<header><a href=/>Agency</a></header><nav><ul><li>Home<li>Forms</ul></nav>
<div class="cookie-consent">We use cookies.</div>
<main><h1>Vesting</h1><p>Vesting means <b>ownership</b>.<br>Always.</p><p hidden>secret</p>
<p style="display: none">secret</p><script>var a = "secret";</script>
<h2>Schedule</h2><table><caption>Graded</caption><tr><th>Years<th>Vested</tr><tr><td>2<td>20%</tr></table>
<ul><li>First</li><li>Second</li></ul></main>
<footer>Privacy policy</footer></body></html>"""


def test_a_page_keeps_its_content_and_loses_its_chrome(read):
    document = read("page.html", PAGE)
    assert headings(document) == {
        ("Vesting",): "Vesting means ownership.\nAlways.",
        ("Vesting", "Schedule", "Graded"): "Years: 2 | Vested: 20%",
        ("Vesting", "Schedule"): "- First\n\n- Second",
    }


def test_a_page_without_a_main_part_is_read_whole(read):
    document = read(
        "page.html", "<title>Old page - x</title><body><p>One.</p><table><tr><td><p>Two.</p></td></tr></table>"
    )
    assert document.text == "One.\n\nTwo."


def test_header_cells_that_span_columns_name_each_of_them(read):
    document = read(
        "table.html",
        "<table><tr><th rowspan=2>Age<th colspan=2>Male</tr><tr><th>Deaths<th>Lives</tr>"
        "<tr><td>1<td>0.5<td>99</tr></table>",
    )
    assert document.text == "Age: 1 | Male Deaths: 0.5 | Male Lives: 99"


def test_signs_in_cells_of_their_own_join_their_figure(read):
    document = read(
        "filing.html",
        "<table><tr><td>Item<td colspan=3>2023</tr><tr><td>Income<td>$<td>12.5<td></tr>"
        "<tr><td>Loss<td>$<td>(3.1<td>)</tr></table>",
    )
    assert document.text == "Item: Income | 2023: $12.5\nItem: Loss | 2023: $(3.1)"


@pytest.mark.parametrize(
    "page",
    [
        "<h1>Your Request Originates from an Undeclared Automated Tool</h1><p>Please declare your traffic.</p>",
        "<title>SEC.gov | Request Rate Threshold Exceeded</title><p>To allow for equitable access.</p>",
        "<title>Attention Required! | Cloudflare</title><p>You have been blocked.</p>",
        "<p>Please verify you are human by completing the action below.</p>",
    ],
)
def test_the_page_of_a_bot_wall_is_refused(read, page):
    with pytest.raises(DocumentRefused, match="bot-block"):
        read("filing.html", page)


def test_a_charset_that_lies_is_not_believed(read):
    text = "في قرية من القرى كان هناك رجل حكيم يعرف كل شيء عن الحياة وكان يعلم الناس كيف يعيشون بسلام."
    page = f'<meta charset="utf-8"><p>{text}</p>'
    assert read("a.html", page.encode("cp1256")).text == text


def test_a_declared_charset_decides_where_bytes_are_not_unicode(read):
    page = '<meta http-equiv="Content-Type" content="text/html; charset=iso-8859-2"><p>Źródło łąki</p>'
    assert read("a.html", page.encode("iso-8859-2")).text == "Źródło łąki"


# --- delimited and JSON ------------------------------------------------------------------------


def test_csv_rows_carry_their_column_names_and_their_numbers(read):
    document = read("rates.csv", "year,rate\n2023,8.7%\n2024,3.2%\n")
    (section,) = document.sections
    assert document.text == "year: 2023 | rate: 8.7%\nyear: 2024 | rate: 3.2%"
    assert (section.kind, section.location) == ("table", "rows 2-3")


def test_quoted_commas_and_other_delimiters_are_understood(read):
    assert read("a.csv", 'name;limit\n"Smith; John";5\n').text == "name: Smith; John | limit: 5"


def test_a_long_csv_names_the_rows_of_every_part(read):
    document = read("a.csv", "n,square\n" + "".join(f"{n},{n * n}\n" for n in range(1, 51)))
    assert [section.location for section in document.sections] == ["rows 2-21", "rows 22-41", "rows 42-51"]
    assert text_of(document, document.sections[2]).startswith("n: 41 | square: 1681")


def test_json_keys_stay_with_their_values(read):
    document = read("a.json", '{"plan": "401(k)", "limits": {"2025": 23500, "catch-up": [7500, 11250]}}')
    assert document.text == "plan: 401(k)\n\n2025: 23500 | catch-up: 7500, 11250"
    assert document.sections[1].heading == ("limits",)


def test_json_lines_know_their_lines(read):
    document = read("a.jsonl", '{"q": "IRA limit", "a": {"usd": 7000}}\n\n{"q": "RMD age", "a": 73}\n')
    assert document.text == "q: IRA limit | a.usd: 7000\nq: RMD age | a: 73"
    assert document.sections[0].location == "lines 1-3"


@pytest.mark.parametrize("content", ["{", "[" * 100_000, '{"a": NaN'])
def test_broken_json_is_refused(read, content):
    with pytest.raises(DocumentRefused, match="not JSON"):
        read("a.json", content)


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("koi8-r", "Пенсионный фонд выплачивает пенсии гражданам страны ежемесячно."),
        ("cp1251", "Пенсионный фонд выплачивает пенсии гражданам страны ежемесячно."),
        ("cp1250", "Zażółć gęślą jaźń. Umowa ubezpieczenia została zawarta na czas określony."),
        (
            "cp1254",
            "Sigorta şirketi ödeme yapmayı reddetti; müşteri şikâyet için başvurdu. "
            "Ücret aylık ödenir, çünkü değişir.",
        ),
        ("cp1255", "הפנסיה משולמת מדי חודש לכל אזרח שהגיע לגיל הפרישה ועבד מספיק שנים."),
        ("cp850", "Gebühren für Überweisungen sind fällig. Größe ändern."),
        ("cp1252", "The “fair” value’s limit — £5 or 5 € — naïve café résumé."),
        ("cp1252", "Müller"),
        ("cp1252", "Fee: £5"),
    ],
)
def test_short_and_foreign_texts_are_read_in_their_legacy_encoding(read, encoding, text):
    assert read("a.txt", text.encode(encoding)).text == text


def test_a_character_cut_off_at_the_end_does_not_change_the_encoding(read):
    assert read("a.txt", "The café takes 5 €".encode()[:-1]).text == "The café takes 5"


def test_a_page_that_declares_latin_1_means_windows_1252(read):
    page = b"<meta charset=iso-8859-1><p>It costs 5 \x80 \x96 \x93fair\x94.</p>"
    assert read("a.html", page).text == "It costs 5 € – “fair”."


@pytest.mark.parametrize(
    "page",
    [
        "<title>Just a moment...</title><noscript>Enable JavaScript and cookies to continue</noscript>",
        "<p>Please enable JS and disable any ad blocker</p><script>var dd={}</script>",
        "<title>403 Forbidden</title><h1>403 Forbidden</h1><hr>nginx",
        "<title>Redirecting</title><p>Redirecting to <a href=x>here</a></p>",
        "<title>Sign in</title><form><label>Name<input></label><input type=password></form>",
    ],
)
def test_what_a_server_sends_instead_of_the_document_is_refused(read, page):
    with pytest.raises(DocumentRefused, match="download it again"):
        read("filing.html", page)


@pytest.mark.parametrize(
    "page",
    [
        "<title>My App</title><noscript>You need to enable JavaScript.</noscript><div id=root></div>",
        "<title>Frames</title><frameset><frame src=a><noframes><p>No frames</p></noframes></frameset>",
        "<meta http-equiv=refresh content='0;url=x'>",
    ],
)
def test_a_page_without_text_of_its_own_has_nothing_to_index(read, page):
    with pytest.raises(NothingToIndex, match="no text of its own"):
        read("a.html", page)


def test_tags_that_are_never_closed_hide_no_text(read):
    assert read("a.html", "<font>" * 400 + "<p>The filing.</p>").text == "The filing."


def test_a_row_like_those_below_it_names_no_columns(read):
    rows = "".join(f"Client {number},buys,fund\n" for number in range(3))
    assert read("a.csv", rows).text == "Client 0 | buys | fund\nClient 1 | buys | fund\nClient 2 | buys | fund"


def test_a_line_that_tells_the_separator_is_no_row(read):
    document = read("a.csv", "sep=;\nName;Fee\nA;1\n")
    assert (document.text, document.sections[0].location) == ("Name: A | Fee: 1", "row 3")


def test_one_broken_line_of_json_lines_costs_itself_and_is_told(read):
    document = read("a.jsonl", '{"fee": 5}\n{"fee": \n{"fee": 7}\n')
    assert document.text == "fee: 5\nfee: 7"
    assert document.warnings == ("1 lines are not JSON, the first is line 2",)


def test_numbers_in_json_stand_as_they_are_written(read):
    written = '{"a": 1.10, "b": 12345678901234567890123, "c": 1e400, "d": true}'
    assert read("a.json", written).text == "a: 1.10 | b: 12345678901234567890123 | c: 1e400 | d: true"


def test_a_key_without_a_name_does_not_fall_under_the_one_before(read):
    document = read("a.json", '{"2024": {"rate": {"a": 5}}, "": {"rate": 7}}')
    assert [section.heading for section in document.sections] == [("2024", "rate"), ()]


def test_what_is_lost_of_a_text_is_told(read):
    document = read("a.txt", "A good line.\n\n\ufffd\ufffd\ufffd word \ufffd\ufffd")
    assert len(document.warnings) == 1
    assert "word" not in document.warnings[0]


@pytest.mark.parametrize("name", ["a.xls", "a.xlsx"])
def test_an_export_is_read_as_what_it_is_under_the_name_of_a_workbook(read, name):
    assert read(name, "Plan\tFee\nA\t5\n").text == "Plan: A | Fee: 5"
    assert read(name, "<html><table><tr><th>Plan<th>Fee<tr><td>A<td>5</table>").text == "Plan: A | Fee: 5"
