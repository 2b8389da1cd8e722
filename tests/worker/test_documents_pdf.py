"""PDF files: pages as a person counts them, columns in reading order, tables with their column names."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pypdfium2
import pytest
from reportlab.lib.pagesizes import LETTER
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    BaseDocTemplate,
    Frame,
    PageBreak,
    PageTemplate,
    Paragraph,
    SimpleDocTemplate,
    Table,
)

from worker.documents import Limits, read_document
from worker.errors import DocumentRefused, NothingToIndex
from worker.records import Document

WIDTH, HEIGHT = LETTER
PROSE = "The plan pays the benefit in equal parts. The first part is due in January of the year that follows. "
BODY, HEADING = getSampleStyleSheet()["BodyText"], getSampleStyleSheet()["Heading1"]


@pytest.fixture
def draw(tmp_path: Path):
    """Read what a function draws on a canvas."""

    def read(paint: Callable[[Canvas], None], *, limits: Limits | None = None, **options) -> Document:
        path = tmp_path / "drawn.pdf"
        canvas = Canvas(str(path), pagesize=LETTER, **options)
        paint(canvas)
        canvas.save()
        return read_document(path, limits=limits)

    return read


@pytest.fixture
def flow(tmp_path: Path):
    """Read what reportlab lays out on pages."""

    def read(*flowables, template: BaseDocTemplate | None = None) -> Document:
        path = tmp_path / "flowed.pdf"
        (template or SimpleDocTemplate(str(path))).build(list(flowables))
        return read_document(path)

    return read


def test_pages_count_from_one_and_headings_stay_above_their_text(flow):
    document = flow(
        Paragraph("Fees", HEADING),
        Paragraph(PROSE, BODY),
        PageBreak(),
        Paragraph("Custody", HEADING),
        Paragraph(PROSE, BODY),
    )
    assert [(section.page, section.heading) for section in document.sections] == [(1, ("Fees",)), (2, ("Custody",))]
    assert document.text == f"{PROSE.strip()}\n\n{PROSE.strip()}"


def test_a_table_keeps_its_column_names_in_every_row(flow):
    document = flow(
        Paragraph(PROSE, BODY),
        Table([["Age", "Period in years"], ["73", "26.5"], ["74", "25.5"], ["75", "24.6"]]),
        Paragraph(PROSE, BODY),
    )
    table = document.sections[1]
    assert table.kind == "table"
    assert document.text[table.start : table.end].splitlines() == [
        "Age: 73 | Period in years: 26.5",
        "Age: 74 | Period in years: 25.5",
        "Age: 75 | Period in years: 24.6",
    ]


def test_two_columns_are_read_one_after_the_other(tmp_path, flow):
    frames = [Frame(72, 72, 220, 600), Frame(320, 72, 220, 600)]
    template = BaseDocTemplate(str(tmp_path / "flowed.pdf"), pageTemplates=[PageTemplate(frames=frames)])
    sentences = [f"Sentence number {number} stands in its own place in the order. " for number in range(60)]
    text = flow(*(Paragraph("".join(sentences[n : n + 6]), BODY) for n in range(0, 60, 6)), template=template).text
    places = [text.index(f"number {number} stands") for number in range(60)]
    assert places == sorted(places)


def test_columns_are_found_where_the_file_draws_line_by_line_across_them(draw):
    left = [f"left line {number} of the first column of text" for number in range(12)]
    right = [f"right line {number} of the second column here" for number in range(12)]

    def paint(canvas):
        canvas.drawString(72, 720, "A title that runs across both of the columns of this page here")
        for number, lines in enumerate(zip(left, right, strict=True)):
            canvas.drawString(72, 690 - 14 * number, lines[0])
            canvas.drawString(330, 690 - 14 * number, lines[1])

    text = draw(paint).text
    assert text.index("title") < text.index("left line 0") < text.index("left line 11") < text.index("right line 0")


def test_running_headers_and_footers_are_left_out(draw):
    def paint(canvas):
        for page in range(1, 7):
            canvas.drawString(72, 750, f"Annual report of the fund, chapter {page}")
            canvas.drawString(72, 600, f"Unique statement {'abcdef'[page - 1] * 3} of this page.")
            canvas.drawString(300, 40, f"Page {page} of 6")
            canvas.showPage()

    text = draw(paint).text
    assert text.count("Unique statement") == 6
    assert "Annual report" not in text
    assert "of 6" not in text


def test_pages_that_differ_in_a_number_alone_are_content(draw):
    def paint(canvas):
        for page in range(1, 7):
            canvas.drawString(72, 700, f"Voucher number {page} of the series.")
            canvas.showPage()

    assert draw(paint).text.count("Voucher number") == 6


def test_a_sentence_that_goes_on_overleaf_is_one_sentence(draw):
    def paint(canvas):
        canvas.drawString(72, 700, "The first line of a paragraph that fills the page,")
        canvas.drawString(72, 686, "and whose last sentence does not end before")
        canvas.showPage()
        canvas.drawString(72, 700, "the page does. Then another one follows it.")

    document = draw(paint)
    assert "does not end before the page does." in document.text
    assert [section.page for section in document.sections] == [1, 2]


def test_words_parted_at_the_end_of_a_line_are_put_together(draw):
    def paint(canvas):
        canvas.drawString(72, 714, "Some long-term goals and a long-term plan for retire-")
        canvas.drawString(72, 700, "ment are written down here, and a new long-")
        canvas.drawString(72, 686, "term goal, free of tax. A tax-")
        canvas.drawString(72, 672, "free gift. The 737–")
        canvas.drawString(72, 658, "9 as well.")

    assert draw(paint).text == (
        "Some long-term goals and a long-term plan for retirement are written down here, "
        "and a new long-term goal, free of tax. A tax-free gift. The 737–9 as well."
    )


def test_letters_drawn_twice_to_look_bold_are_read_once(draw):
    def paint(canvas):
        for shift in (0, 0.2):
            canvas.drawString(72 + shift, 700, "A stuffed office coffee")

    assert draw(paint).text == "A stuffed office coffee"


def test_text_on_its_side_is_read_and_stamps_along_the_margin_are_not(draw):
    def paint(canvas):
        canvas.saveState()
        canvas.translate(300, 100)
        canvas.rotate(90)
        canvas.drawString(0, 0, "Most of the text of this page stands upright to its reader.")
        canvas.drawString(0, -14, "It goes on in a second line that follows the first one.")
        canvas.restoreState()
        canvas.drawString(20, 20, "STAMP")

    assert draw(paint).text == (
        "Most of the text of this page stands upright to its reader. "
        "It goes on in a second line that follows the first one."
    )


def test_leaders_to_page_numbers_are_no_text(draw):
    assert draw(lambda canvas: canvas.drawString(72, 700, "Chapter 1 . . . . . . . . . . 12")).text == "Chapter 1 12"


def test_page_labels_are_given_where_they_differ_from_the_count(tmp_path):
    path = tmp_path / "labelled.pdf"
    canvas = Canvas(str(path))
    canvas.addPageLabel(0, style="ROMAN_LOWER", start=4)
    canvas.drawString(72, 700, "Preface of the report.")
    canvas.save()
    (section,) = read_document(path).sections
    assert (section.page, section.location) == (1, "page iv")


def test_an_empty_password_opens_a_file_and_a_real_one_refuses_it(draw):
    def paint(canvas):
        canvas.drawString(72, 700, "The limit is $7,000.")

    assert draw(paint, encrypt=StandardEncryption("", "owner")).text == "The limit is $7,000."
    with pytest.raises(DocumentRefused, match="encrypted"):
        draw(paint, encrypt=StandardEncryption("user", "owner"))


def test_what_was_filled_into_a_form_is_read(draw):
    def paint(canvas):
        canvas.drawString(72, 700, "Monthly income:")
        canvas.acroForm.textfield(name="income", value="$5,250", x=180, y=695, width=100, height=18)

    assert draw(paint).text == "Monthly income: $5,250"


def test_pages_of_images_have_nothing_to_index(draw):
    with pytest.raises(NothingToIndex, match="no text layer"):
        draw(lambda canvas: canvas.rect(100, 100, 200, 200, fill=1))


def test_too_many_pages_are_refused(draw):
    def paint(canvas):
        for _ in range(4):
            canvas.drawString(72, 700, "Page.")
            canvas.showPage()

    with pytest.raises(DocumentRefused, match="4 pages, more than 3"):
        draw(paint, limits=Limits(max_pages=3))


def test_damaged_bytes_are_refused(tmp_path):
    path = tmp_path / "a.pdf"
    path.write_bytes(b"%PDF-1.7\nnothing that follows is right")
    with pytest.raises(DocumentRefused, match="damaged"):
        read_document(path)


def test_files_attached_to_a_pdf_are_read_and_named(tmp_path):
    buffer = io.BytesIO()
    canvas = Canvas(buffer)
    canvas.drawString(72, 700, "See the attachment.")
    canvas.save()
    with pypdfium2.PdfDocument(buffer.getvalue()) as pdf:
        pdf.new_attachment("rates.csv").set_data(b"year,rate\n2024,3.2%\n")
        pdf.save(str(tmp_path / "a.pdf"))
    document = read_document(tmp_path / "a.pdf")
    last = document.sections[-1]
    assert document.text[last.start : last.end] == "year: 2024 | rate: 3.2%"
    assert (last.page, last.location) == (None, 'attachment "rates.csv", row 2')


def numbered_rows(count: int) -> list[list[str]]:
    return [[f"Account {number}", str(number), str(2 * number)] for number in range(count)]


def test_no_row_of_a_long_table_is_taken_for_a_running_header(flow):
    document = flow(Table([["Account", "Fee", "Limit"], *numbered_rows(120)], repeatRows=1))
    assert max(section.page for section in document.sections) > 2
    for number in range(120):
        assert f"Account: Account {number} | Fee: {number} | Limit: {2 * number}" in document.text


def test_page_numbers_that_begin_anew_in_each_chapter_are_left_out(draw):
    def paint(canvas):
        for page in range(9):
            canvas.drawString(72, 600, f"Unique statement {'abcdefghi'[page] * 3} of this page.")
            canvas.drawString(300, 40, f"{page // 3 + 1}-{page % 3 + 1}")
            canvas.showPage()

    assert not any(sign in draw(paint).text for sign in "123")


def test_pages_without_a_text_layer_are_told_and_empty_ones_are_not(draw):
    def paint(canvas):
        for page in range(4):
            if page == 1:
                canvas.rect(72, 72, 300, 300, fill=1)
            elif page != 2:
                canvas.drawString(72, 700, f"Statement {'abcd'[page] * 3} of this page.")
            canvas.showPage()

    assert draw(paint).warnings == ("no text layer on 1 of 4 pages (2): run text recognition (OCR)",)


def test_an_attachment_that_cannot_be_read_is_told(tmp_path):
    pdf = pypdfium2.PdfDocument.new()
    pdf.new_page(200, 200)
    for name, data in (("fees.csv", b"Plan,Fee\nA,5\n"), ("scan.tiff", b"II*\0")):
        pdf.new_attachment(name).set_data(data)
    pdf.save(tmp_path / "a.pdf")
    document = read_document(tmp_path / "a.pdf")
    assert document.text == "Plan: A | Fee: 5"
    assert [warning.partition(":")[0] for warning in document.warnings] == ['"scan.tiff" inside it']


def test_a_name_above_a_group_of_columns_stands_with_each_of_them(flow):
    rows = [["", "Public", "", "Private", ""], ["Year", "Young", "Old", "Young", "Old"]]
    rows += [[str(1990 + number), "10", "20", "30", "40"] for number in range(4)]
    spans = [("SPAN", (1, 0), (2, 0)), ("SPAN", (3, 0), (4, 0)), ("ALIGN", (1, 0), (-1, -1), "CENTER")]
    first = flow(Table(rows, style=spans)).text.splitlines()[0]
    assert first == "Year: 1990 | Public Young: 10 | Public Old: 20 | Private Young: 30 | Private Old: 40"


def test_a_figure_has_no_column_name_rather_than_one_that_could_be_anothers(draw):
    """Groups of unlike size: which of them the outer columns belong to, the page does not tell."""

    def paint(canvas):
        canvas.drawString(250, 700, "Owned")
        canvas.drawString(430, 700, "Let")
        for x, name in zip((72, 180, 250, 320, 430), ("Town", "Flats", "Shops", "Sites", "Flats"), strict=True):
            canvas.drawString(x, 686, name)
        for row in range(4):
            for x, cell in zip((72, 180, 250, 320, 430), ("Ulm", "1", "2", "3", "4"), strict=True):
                canvas.drawString(x, 672 - 14 * row, cell)

    text = draw(paint).text
    assert "Owned Flats" not in text
    assert text.splitlines()[0] == "Town: Ulm | Flats: 1 | Owned Shops: 2 | Sites: 3 | Let Flats: 4"


def test_a_group_of_rows_is_no_column_and_new_names_in_the_middle_replace_the_old(flow):
    rows = [["", "2023", "2022"], ["Assets", "", ""], ["Cash", "100", "90"], ["Bonds", "50", "45"]]
    rows += [["Forecast", "2025", "2024"], ["Loans", "7", "6"], ["Rent", "5", "4"]]
    assert flow(Table(rows)).text.splitlines() == [
        "Assets",
        "Cash | 2023: 100 | 2022: 90",
        "Bonds | 2023: 50 | 2022: 45",
        "Forecast | 2025 | 2024",
        "Loans | 2025: 7 | 2024: 6",
        "Rent | 2025: 5 | 2024: 4",
    ]


def test_larger_type_that_goes_on_in_body_type_is_no_heading(flow):
    document = flow(
        Paragraph("The committee states without any doubt that the fund", HEADING),
        Paragraph("continues to pay. " * 4, BODY),
        Paragraph(PROSE * 3, BODY),
    )
    assert {section.heading for section in document.sections} == {()}


def test_a_first_row_does_not_become_names_where_the_page_gives_none(draw):
    """All columns share one name, so it names none of them; the row below it is still a row."""

    def paint(canvas):
        for row, cells in enumerate(
            [("", "Sum", "Sum", "Sum"), *((f"Town {row}", "1", "2", "3") for row in range(4))]
        ):
            for x, cell in zip((72, 180, 300, 420), cells, strict=True):
                canvas.drawString(x, 700 - 14 * row, cell)

    assert draw(paint).text.splitlines()[:2] == ["Town 0 | 1 | 2 | 3", "Town 1 | 1 | 2 | 3"]


def test_an_empty_page_has_nothing_to_index_and_is_no_image(draw):
    with pytest.raises(NothingToIndex, match="holds no text"):
        draw(lambda canvas: canvas.showPage())
