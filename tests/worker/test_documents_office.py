"""Word, Excel, PowerPoint, OpenDocument, RTF and EPUB files, made here by the libraries that people use."""

from __future__ import annotations

import datetime
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import docx
import openpyxl
import pptx
import pytest
from docx.document import Document as DocxDocument
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from worker.documents import Limits, read_document
from worker.errors import DocumentRefused, NothingToIndex
from worker.records import Document


@pytest.fixture
def read(tmp_path: Path):
    """Read bytes, or whatever has a `save`, as a file of that name."""

    def read_as(name: str, content, *, limits: Limits | None = None) -> Document:
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            content.save(str(path))
        return read_document(path, limits=limits)

    return read_as


def archive(parts: Mapping[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return buffer.getvalue()


def parts(document: Document) -> list[tuple[tuple[str, ...], str, str]]:
    return [(one.heading, one.location, document.text[one.start : one.end]) for one in document.sections]


# --- Word --------------------------------------------------------------------------------------


def test_a_word_file_keeps_its_outline_and_its_tables(read):
    word = docx.Document()
    word.add_heading("Vesting", 0)
    word.add_paragraph("The match vests over six years.")
    word.add_heading("Schedule", 1)
    table = word.add_table(rows=3, cols=2)
    for row, cells in enumerate((("Years", "Vested"), ("2", "20 percent"), ("3", "40 percent"))):
        for column, text in enumerate(cells):
            table.cell(row, column).text = text
    document = read("vesting.docx", word)
    assert document.title == "Vesting"
    assert "Years: 2 | Vested: 20 percent" in document.text


def test_a_table_of_contents_is_left_out(read):
    word = docx.Document()
    word.styles.add_style("toc 1", 1)
    word.add_paragraph("Fees ........ 3", style="toc 1")
    word.add_paragraph("We charge a fee.")
    assert read("a.docx", word).text == "We charge a fee."


def test_text_boxes_insertions_and_footnotes_are_read_and_deletions_are_not(read):
    word = docx.Document()
    word.add_paragraph("Before.")
    namespaces = nsdecls("w") + ' xmlns:v="urn:schemas-microsoft-com:vml"'
    word.element.body.insert(
        1,
        parse_xml(
            f"<w:p {namespaces}><w:r><w:t>Kept. </w:t></w:r><w:ins><w:r><w:t>Inserted.</w:t></w:r></w:ins>"
            "<w:del><w:r><w:delText>Deleted.</w:delText></w:r></w:del>"
            "<w:r><w:rPr><w:vanish/></w:rPr><w:t>Hidden.</w:t></w:r>"
            "<w:r><w:pict><v:shape><v:textbox><w:txbxContent><w:p><w:r><w:t>In a box.</w:t></w:r></w:p>"
            "</w:txbxContent></v:textbox></v:shape></w:pict></w:r></w:p>"
        ),
    )
    assert read("a.docx", word).text == "Before.\n\nKept. Inserted.\n\nIn a box."


def test_html_embedded_in_a_word_file_is_read(read, tmp_path):
    word = docx.Document()
    part = docx.opc.part.Part(
        docx.opc.packuri.PackURI("/word/chunk.html"), "text/html", b"<p>From the chunk.</p>", word.part.package
    )
    relation = word.part.relate_to(
        part, "http://schemas.openxmlformats.org/officeDocument/2006/relationships/aFChunk"
    )
    word.element.body.insert(0, parse_xml(f'<w:altChunk {nsdecls("w", "r")} r:id="{relation}"/>'))
    assert read("a.docx", word).text == "From the chunk."


def test_a_table_inside_a_table_is_read_cell_by_cell(read):
    word = docx.Document()
    outer = word.add_table(rows=1, cols=2)
    outer.cell(0, 0).text = "Left."
    outer.cell(0, 1).add_table(rows=1, cols=1).cell(0, 0).text = "Inner."
    assert read("a.docx", word).text == "Left.\n\nInner."


# --- spreadsheets ------------------------------------------------------------------------------


def workbook(rows, *, title="Rates") -> openpyxl.Workbook:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = title
    for row in rows:
        sheet.append(row)
    return book


def test_a_sheet_is_read_as_a_person_sees_it(read):
    book = workbook([("Fund", "Rate", "Fee", "Since"), ("A", 0.045, 1234.5, datetime.datetime(2024, 1, 31))])
    book.active["B2"].number_format = "0.0%"
    book.active["C2"].number_format = '"$"#,##0.00'
    assert parts(read("rates.xlsx", book)) == [
        (("Rates",), 'sheet "Rates", row 2', "Fund: A | Rate: 4.5% | Fee: $1,234.50 | Since: 2024-01-31")
    ]


@pytest.mark.parametrize(
    ("value", "number_format", "shown"),
    [
        (0.125, "0%", "12%"),
        (-1234.5, "#,##0.00;(#,##0.00)", "-1,234.50"),
        (7000, "[$$-409]#,##0", "$7,000"),
        (3, "General", "3"),
        (2.5, "General", "2.5"),
        (123456789012345, "General", "123456789012345"),
        (0.1 + 0.2, "General", "0.3"),
        (-0.001, "0", "0"),
        (True, "General", "TRUE"),
    ],
)
def test_figures_are_shown_by_their_number_format(read, value, number_format, shown):
    book = workbook([("Label", "Figure"), ("x", value)])
    book.active["B2"].number_format = number_format
    assert read("a.xlsx", book).text.endswith(shown)


def test_titles_and_merged_group_names_stay_with_the_figures(read):
    book = workbook(
        [
            ("Segments",),
            (),
            ("In millions", "2023", None, "2022", None),
            (None, "Sales", "Profit", "Sales", "Profit"),
            (),
            ("Zone A", 12, 3, 11, 2),
        ]
    )
    book.active.merge_cells("B3:C3")
    book.active.merge_cells("D3:E3")
    assert parts(read("a.xlsx", book)) == [
        (
            ("Rates", "Segments"),
            'sheet "Rates", row 6',
            "In millions: Zone A | 2023 Sales: 12 | 2023 Profit: 3 | 2022 Sales: 11 | 2022 Profit: 2",
        )
    ]


def test_a_lone_name_above_the_column_names_heads_the_whole_table(read):
    book = workbook([("Item", None, "Year 2023"), (None, "Sales", "Profit"), ("Zone A", 12, 3)])
    assert parts(read("a.xlsx", book)) == [
        (("Rates", "Year 2023"), 'sheet "Rates", row 3', "Item: Zone A | Sales: 12 | Profit: 3")
    ]


def test_a_sheet_that_claims_a_million_rows_is_read_by_its_cells(read):
    book = workbook([("Label", "Figure"), ("x", 1)])
    book.active.cell(1_048_576, 16_384).value = "stray"
    document = read("a.xlsx", book)
    assert parts(document)[-1] == (("Rates",), 'sheet "Rates", row 1048576', "stray")


def test_a_workbook_too_large_for_memory_is_read_row_by_row(read):
    book = workbook([("Label", "Rate"), ("x", 0.045)])
    book.active["B2"].number_format = "0.0%"
    document = read("a.xlsx", book, limits=Limits(max_loaded_bytes=0))
    assert parts(document) == [(("Rates",), 'sheet "Rates", row 2', "Label: x | Rate: 4.5%")]


def test_formulas_are_not_computed_and_hidden_sheets_are_not_read(read):
    book = workbook([("Label", "Figure"), ("sum", "=1+1"), ("plain", 5)])
    book.create_sheet("secret").append(("hidden",))
    book["secret"].sheet_state = "hidden"
    assert read("a.xlsx", book).text == "Label: sum\nLabel: plain | Figure: 5"


def test_an_opendocument_spreadsheet_is_read(read):
    content = (
        '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
        'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
        'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:spreadsheet>'
        '<table:table table:name="Limits"><table:table-row>'
        '<table:table-cell office:value-type="string"><text:p>Year</text:p></table:table-cell>'
        '<table:table-cell office:value-type="string"><text:p>Limit</text:p></table:table-cell></table:table-row>'
        '<table:table-row><table:table-cell office:value-type="string"><text:p>Y2025</text:p></table:table-cell>'
        '<table:table-cell office:value-type="float" office:value="7000"><text:p>7000</text:p></table:table-cell>'
        "</table:table-row></table:table></office:spreadsheet></office:body></office:document-content>"
    )
    data = archive(
        {
            "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
            "content.xml": content,
            "META-INF/manifest.xml": '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:'
            'manifest:1.0"/>',
        }
    )
    assert parts(read("a.ods", data)) == [(("Limits",), 'sheet "Limits", row 2', "Year: Y2025 | Limit: 7000")]


# --- slides, OpenDocument text, RTF, EPUB --------------------------------------------------------


def test_slides_know_their_number(read):
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[5])
    slide.shapes.title.text = "Limits"
    table = slide.shapes.add_table(2, 2, Inches(1), Inches(1), Inches(4), Inches(1)).table
    for row, cells in enumerate((("Plan", "2025"), ("IRA", "$7,000"))):
        for column, text in enumerate(cells):
            table.cell(row, column).text = text
    slide.notes_slide.notes_text_frame.text = "Say it slowly."
    assert parts(read("a.pptx", show)) == [
        (("Limits",), "slide 1", "Plan: IRA | 2025: $7,000"),
        (("Limits",), "slide 1, notes", "Say it slowly."),
    ]


ODT = """<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"
 xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"><office:body><office:text>
<text:tracked-changes><text:p>Deleted.</text:p></text:tracked-changes>
<text:h text:outline-level="1">Fees</text:h><text:p>The fee<text:s/>is <text:span>0.8 percent</text:span>.</text:p>
<text:list><text:list-item><text:p>One</text:p></text:list-item></text:list>
<table:table><table:table-header-rows><table:table-row><table:table-cell><text:p>Tier</text:p></table:table-cell>
<table:table-cell><text:p>Fee</text:p></table:table-cell></table:table-row></table:table-header-rows>
<table:table-row><table:table-cell><text:p>First</text:p></table:table-cell>
<table:table-cell><text:p>0.8</text:p></table:table-cell></table:table-row></table:table>
</office:text></office:body></office:document-content>"""


def test_an_opendocument_text_is_read(read):
    document = read("fees.odt", archive({"content.xml": ODT}))
    assert parts(document) == [
        (("Fees",), "", "The fee is 0.8 percent.\n\n- One"),
        (("Fees",), "", "Tier: First | Fee: 0.8"),
    ]


def test_rtf_is_read_with_its_encoding(read):
    document = read("a.rtf", rb"{\rtf1\ansi\ansicpg1252 {\b The fee} is 0.8\'80.\par Second.\par}")
    assert document.text == "The fee is 0.8€.\n\nSecond."


def test_a_book_is_read_in_the_order_of_its_spine(read):
    data = archive(
        {
            "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
            '<rootfiles><rootfile full-path="book/pack.opf"/></rootfiles></container>',
            "book/pack.opf": '<package xmlns="http://www.idpf.org/2007/opf"><manifest>'
            '<item id="b" href="two%20b.xhtml"/><item id="a" href="one.xhtml"/><item id="c" href="../../etc/x"/>'
            '</manifest><spine><itemref idref="a"/><itemref idref="b"/><itemref idref="c"/></spine></package>',
            "book/one.xhtml": "<html><body><h1>One</h1><p>First.</p></body></html>",
            "book/two b.xhtml": "<html><body><p>Second.</p></body></html>",
        }
    )
    assert parts(read("a.epub", data)) == [(("One",), "part 1", "First."), (("One",), "part 2", "Second.")]


# --- damage ------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["docx", "xlsx", "pptx", "odt", "epub"])
def test_a_damaged_archive_is_refused(read, suffix):
    with pytest.raises(DocumentRefused, match="damaged"):
        read(f"a.{suffix}", b"not an archive")


@pytest.mark.parametrize("suffix", ["docx", "xlsx", "pptx"])
def test_an_encrypted_office_file_is_refused_as_such(read, suffix):
    with pytest.raises(DocumentRefused, match="encrypted"):
        read(f"a.{suffix}", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512))


@pytest.mark.parametrize("suffix", ["docx", "xlsx", "pptx", "odt", "epub", "ods"])
def test_an_archive_that_is_no_document_is_refused(read, suffix):
    with pytest.raises(DocumentRefused, match="damaged"):
        read(f"a.{suffix}", archive({"readme": "hello"}))


@pytest.mark.parametrize("suffix", ["xls", "msg", "rtf"])
def test_a_damaged_single_file_format_is_refused(read, suffix):
    with pytest.raises(DocumentRefused, match="damaged"):
        read(f"a.{suffix}", b"nothing of the kind")


# --- other names and other kinds -------------------------------------------------------------------


def retyped(content, old: str, new: str) -> bytes:
    """The saved file with another content type in it, as programs write macro files and templates."""
    saved = io.BytesIO()
    content.save(saved)
    with zipfile.ZipFile(saved) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    parts["[Content_Types].xml"] = parts["[Content_Types].xml"].replace(old.encode(), new.encode())
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w") as file:
        for name, data in parts.items():
            file.writestr(name, data)
    return result.getvalue()


def word_file(text: str = "The plan pays.") -> DocxDocument:
    word = docx.Document()
    word.add_paragraph(text)
    return word


@pytest.mark.parametrize(
    ("suffix", "kind"),
    [
        ("docm", "vnd.ms-word.document.macroEnabled.main"),
        ("dotx", "vnd.openxmlformats-officedocument.wordprocessingml.template.main"),
    ],
)
def test_word_files_with_macros_and_templates_are_read(read, suffix, kind):
    plain = "vnd.openxmlformats-officedocument.wordprocessingml.document.main"
    assert read(f"a.{suffix}", retyped(word_file(), plain, kind)).text == "The plan pays."


def test_a_presentation_saved_as_a_show_is_read(read):
    deck = pptx.Presentation()
    deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = "Fees"
    plain = "presentationml.presentation.main"
    assert read("a.ppsx", retyped(deck, plain, "presentationml.slideshow.main")).text == "Fees"


@pytest.mark.parametrize("name", ["a.xlsx", "a.pdf", "a.doc", "a", "a.csv"])
def test_a_file_is_what_its_bytes_say_whatever_its_name(read, name):
    assert read(name, word_file()).text == "The plan pays."


def test_rows_deleted_under_tracking_are_not_read_and_formulas_are(read):
    word = docx.Document()
    table = word.add_table(2, 1)
    table.cell(0, 0).text, table.cell(1, 0).text = "gone", "kept"
    table.rows[0]._tr.get_or_add_trPr().append(parse_xml(f'<w:del {nsdecls("w")} w:id="1" w:author="a"/>'))
    maths = "http://schemas.openxmlformats.org/officeDocument/2006/math"
    word.add_paragraph()._p.append(parse_xml(f'<m:oMath xmlns:m="{maths}"><m:r><m:t>a=b</m:t></m:r></m:oMath>'))
    assert read("a.docx", word).text == "kept\n\na=b"


def test_a_workbook_tells_of_hidden_sheets_and_formulas_without_a_result(read):
    book = workbook([("Label", "Figure"), ("sum", "=1+1"), ("plain", 5)])
    book.create_sheet("secret").sheet_state = "hidden"
    assert read("a.xlsx", book).warnings == (
        "formulas without a stored result: 1; open it in Excel and save it",
        'the hidden sheet "secret" was left out',
    )
    with pytest.raises(NothingToIndex, match="formulas without a stored result: 1"):
        read("b.xlsx", workbook([("=1+1",)]))


def test_a_workbook_that_one_library_cannot_open_is_read_by_the_other(read):
    book = workbook([("Label", "Rate"), ("x", 0.045)])
    book.create_chartsheet("an empty chart")
    document = read("a.xlsx", book)
    assert parts(document) == [(("Rates",), 'sheet "Rates", row 2', "Label: x | Rate: 0.045")]
    assert document.warnings == ("figures stand as they are stored, without their number formats",)


def test_names_above_groups_of_columns_survive_the_other_library(read):
    rows = [("Plan", None, None, "Fund", None), ("Name", "Fee", "Limit", "Fee", "Limit"), ("A", 1, 2, 3, 4)]
    book = workbook(rows)
    book.active.merge_cells("B1:C1")
    book.active["B1"], book.active["D1"] = "Old", "New"
    book.active.merge_cells("D1:E1")
    book.create_chartsheet("an empty chart")
    assert read("a.xlsx", book).text == "Plan Name: A | Old Fee: 1 | Old Limit: 2 | New Fee: 3 | New Limit: 4"


def test_a_slide_without_a_title_has_not_that_of_the_slide_before(read):
    deck = pptx.Presentation()
    deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = "Fees"
    first, second = deck.slides[0], deck.slides.add_slide(deck.slide_layouts[6])
    for slide, text in ((first, "Five dollars."), (second, "The address.")):
        slide.shapes.add_textbox(0, 0, Inches(2), Inches(1)).text_frame.text = text
    assert [(one[0], one[2]) for one in parts(read("a.pptx", deck))] == [
        (("Fees",), "Five dollars."),
        ((), "The address."),
    ]


def test_the_figures_of_a_chart_and_merged_cells_of_a_slide_are_read(read):
    deck = pptx.Presentation()
    shapes = deck.slides.add_slide(deck.slide_layouts[6]).shapes
    data = CategoryChartData()
    data.categories = ["East", "West"]
    data.add_series("Sales", (19.2, 21.4))
    shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, Inches(3), Inches(3), data)
    table = shapes.add_table(2, 2, 0, 0, Inches(3), Inches(1)).table
    table.cell(0, 0).merge(table.cell(0, 1))
    table.cell(0, 0).text, table.cell(1, 1).text = "Rates", "5%"
    assert read("a.pptx", deck).text == "East | Sales: 19.2\nWest | Sales: 21.4\n\nRates: 5%"


OPEN = "urn:oasis:names:tc:opendocument:xmlns"


def open_document(kind: str, body: str) -> bytes:
    names = " ".join(
        f'xmlns:{short}="{OPEN}:{long}:1.0"'
        for short, long in (("office", "office"), ("text", "text"), ("draw", "drawing"))
    )
    content = f"<office:document-content {names}><office:body>{body}</office:body></office:document-content>"
    return archive({"mimetype": f"application/vnd.oasis.opendocument.{kind}", "content.xml": content})


def test_open_slides_know_their_number(read):
    page = "<draw:page><draw:frame><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame></draw:page>"
    body = f"<office:presentation>{page.format('One.')}{page.format('Two.')}</office:presentation>"
    document = read("a.odp", open_document("presentation", body))
    assert [one[1:] for one in parts(document)] == [("slide 1", "One."), ("slide 2", "Two.")]


def test_footnotes_of_an_open_text_stand_apart_and_its_contents_list_is_left_out(read):
    note = "<text:note-citation>1</text:note-citation><text:note-body><text:p>Noted.</text:p></text:note-body>"
    contents = "<text:table-of-content><text:p>One ... 1</text:p></text:table-of-content>"
    body = f"<office:text>{contents}<text:p>Text<text:note>{note}</text:note>.</text:p></office:text>"
    found = [one[1:] for one in parts(read("a.odt", open_document("text", body)))]
    assert found == [("", "Text."), ("footnote", "Noted.")]


def test_a_book_that_its_shop_locked_is_refused_and_one_with_hidden_fonts_is_read(read):
    content = (
        "<container xmlns='urn:oasis:names:tc:opendocument:xmlns:container'><rootfile full-path='b.opf'/></container>"
    )
    items = "<item id='n' href='n.html' properties='nav'/><item id='a' href='a.html'/>"
    spine = "<spine><itemref idref='n'/><itemref idref='a'/></spine>"
    parts = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": content,
        "b.opf": f"<package xmlns='http://www.idpf.org/2007/opf'><manifest>{items}</manifest>{spine}</package>",
        "n.html": "<p>Contents</p>",
        "a.html": "<p>The chapter.</p>",
    }
    locked = "<e xmlns:x='http://www.w3.org/2001/04/xmlenc#'><x:CipherReference URI='{}'/></e>"
    font = archive({**parts, "META-INF/encryption.xml": locked.format("font.otf")})
    assert read("a.epub", font).text == "The chapter."
    with pytest.raises(DocumentRefused, match="locked"):
        read("b.epub", archive({**parts, "META-INF/encryption.xml": locked.format("a.html")}))
