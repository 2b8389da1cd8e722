"""Files that want to hurt their reader: each is refused with a reason, and the worker goes on."""

from __future__ import annotations

import io
import os
import signal
import threading
import time
import zipfile
from pathlib import Path

import docx
import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from worker.documents import FORMATS, IsolatedReader, Limits, read_document, read_isolated
from worker.documents.isolation import CRASHED, TIMED_OUT
from worker.errors import DocumentError, DocumentRefused, NothingToIndex

ENTITIES = '<!DOCTYPE x [<!ENTITY a "lol">' + "".join(
    f'<!ENTITY {name} "{f"&{before};" * 10}">' for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.fixture
def isolated():
    """A reader with a child of its own."""
    reader = IsolatedReader()
    yield reader
    reader.close()


def archive(path: Path, parts: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return path


def with_part(saved, path: Path, name: str, content: bytes) -> Path:
    """Save an office document with one of its parts replaced."""
    buffer = io.BytesIO()
    saved.save(buffer)
    with zipfile.ZipFile(buffer) as file:
        parts = {one.filename: file.read(one) for one in file.infolist()}
    return archive(path, {**parts, name: content})


def crash(reader: IsolatedReader) -> None:
    """Do to the child what a bug in a parser does, as soon as there is a child."""
    while not reader.process_id:
        time.sleep(0.01)
    os.kill(reader.process_id, signal.SIGSEGV)


def slow_file(folder: Path) -> Path:
    path = folder / "slow.csv"
    path.write_text("number,square\n" + "".join(f"{n},{n * n}\n" for n in range(300_000)))
    return path


# --- limits ------------------------------------------------------------------------------------


def test_a_file_above_the_size_limit_is_not_even_opened(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("x" * 100)
    with pytest.raises(DocumentRefused, match="larger than 50 bytes"):
        read_document(path, limits=Limits(max_bytes=50))


def test_more_text_than_the_limit_is_refused(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("word " * 100)
    with pytest.raises(DocumentRefused, match="more than 50 characters"):
        read_document(path, limits=Limits(max_characters=50))


@pytest.mark.parametrize("suffix", ["docx", "xlsx", "pptx", "odt", "epub"])
def test_a_zip_bomb_is_refused_before_it_unpacks(tmp_path, suffix):
    path = archive(tmp_path / f"a.{suffix}", {"content.xml": bytes(3_000_000)})
    with pytest.raises(DocumentRefused, match="zip bomb"):
        read_document(path, limits=Limits(max_unpacked_bytes=2_000_000))


@pytest.mark.parametrize("name", ["a.odt", "a.epub"])
def test_an_entity_bomb_in_an_open_format_is_refused(tmp_path, name):
    bomb = f"{ENTITIES}]><x>&i;</x>".encode()
    path = archive(tmp_path / name, {"content.xml": bomb, "META-INF/container.xml": bomb})
    with pytest.raises(DocumentRefused, match=r"entit|damaged"):
        read_document(path)


def test_an_entity_bomb_in_a_word_file_is_refused(tmp_path):
    body = (
        f'{ENTITIES}]><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
        "<w:body><w:p><w:r><w:t>Harmless. &i;</w:t></w:r></w:p></w:body></w:document>"
    )
    path = with_part(docx.Document(), tmp_path / "a.docx", "word/document.xml", body.encode())
    with pytest.raises(DocumentRefused, match="damaged"):
        read_document(path)


def test_an_entity_bomb_in_a_workbook_is_refused(tmp_path):
    sheet = f"{ENTITIES}]><worksheet><sheetData><row><c><v>&i;</v></c></row></sheetData></worksheet>"
    path = with_part(openpyxl.Workbook(), tmp_path / "a.xlsx", "xl/worksheets/sheet1.xml", sheet.encode())
    with pytest.raises(DocumentRefused):
        read_document(path)


def test_an_external_entity_is_never_fetched(tmp_path):
    (tmp_path / "secret.txt").write_text("the secret")
    content = f'<!DOCTYPE x [<!ENTITY s SYSTEM "file://{tmp_path}/secret.txt">]><x>&s;</x>'
    path = archive(tmp_path / "a.odt", {"content.xml": content.encode()})
    with pytest.raises(DocumentError):
        read_document(path)
    page = tmp_path / "a.html"
    page.write_text(
        f"<!DOCTYPE x [<!ENTITY s SYSTEM 'secret.txt'>]><p>seen &s;</p><iframe src={tmp_path}/secret.txt>"
    )
    assert "the secret" not in read_document(page).text


def test_names_that_climb_out_of_an_archive_write_nothing(tmp_path):
    folder = tmp_path / "inside"
    folder.mkdir()
    path = archive(folder / "a.epub", {"../../escaped.txt": b"x", "META-INF/container.xml": b"<x/>"})
    with pytest.raises(DocumentRefused):
        read_document(path)
    assert sorted(one.name for one in tmp_path.rglob("*")) == ["a.epub", "inside"]


def test_deeply_nested_html_is_read_or_refused(tmp_path):
    path = tmp_path / "a.html"
    path.write_text("<div>" * 50_000 + "deep" + "</div>" * 50_000)
    with pytest.raises(DocumentError):
        read_document(path)


def test_a_table_whose_cells_claim_to_span_everything_ends(tmp_path):
    path = tmp_path / "a.html"
    path.write_text("<table>" + ("<tr>" + "<td colspan=99 rowspan=9999>x" * 99 + "</tr>") * 99 + "</table>")
    assert "x" in read_isolated(path, limits=Limits(seconds=60)).text


def test_a_pdf_whose_page_tree_runs_in_a_circle_ends(tmp_path):
    path = tmp_path / "a.pdf"
    path.write_bytes(
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
        b"2 0 obj<</Type/Pages/Count 9/Kids[2 0 R 3 0 R]>>endobj\n"
        b"3 0 obj<</Type/Pages/Count 9/Kids[2 0 R]/Parent 2 0 R>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF"
    )
    with pytest.raises(DocumentError):
        read_isolated(path, limits=Limits(seconds=30))


def test_what_is_no_regular_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(DocumentRefused, match="regular file"):
        read_document(tmp_path / "pipe.txt")
    with pytest.raises(DocumentRefused, match="cannot be opened"):
        read_document(tmp_path / "missing.txt")


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    suffix=st.sampled_from(sorted(FORMATS)),
    data=st.binary(max_size=400),
    head=st.sampled_from(
        [
            b"",
            b"%PDF-1.4\n",
            b"PK\x03\x04",
            b"{\\rtf1 ",
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
            b"<html><table><tr><td colspan=9>",
        ]
    ),
)
def test_any_bytes_under_any_name_are_a_document_or_a_reason(tmp_path, suffix, data, head):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(head + data)
    try:
        document = read_document(path)
    except DocumentError:
        return
    places = [(section.start, section.end) for section in document.sections]
    assert places == sorted(places)
    assert all(document.text[start:end].strip() for start, end in places)
    assert not {"\x00", "\u202e", "\ud800"} & set(document.text)


# --- isolation ---------------------------------------------------------------------------------


def test_a_file_read_in_the_child_is_the_same_document(tmp_path, isolated):
    path = tmp_path / "café “quoted”.md"
    path.write_text("# Títle\n\nThe limit is €7,000.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")
    assert isolated.read(path) == read_document(path)


def test_reasons_come_through_as_the_same_errors(tmp_path, isolated):
    for name, error in (("empty.txt", NothingToIndex), ("what.bin", DocumentRefused)):
        (tmp_path / name).write_text("x" if error is DocumentRefused else "")
        with pytest.raises(error):
            isolated.read(tmp_path / name)


def test_a_file_that_hangs_its_reader_is_refused_and_the_next_one_is_read(tmp_path, isolated):
    quick, slow = tmp_path / "quick.txt", slow_file(tmp_path)
    quick.write_text("Quick.")
    isolated.read(quick)
    with pytest.raises(DocumentRefused, match=TIMED_OUT):
        isolated.read(slow, limits=Limits(seconds=0.2))
    assert isolated.read(quick).text == "Quick."


def test_a_file_that_kills_its_reader_is_refused_and_the_next_one_is_read(tmp_path, isolated):
    quick, slow = tmp_path / "quick.txt", slow_file(tmp_path)
    quick.write_text("Quick.")
    threading.Thread(target=crash, args=(isolated,)).start()
    with pytest.raises(DocumentRefused, match=CRASHED):
        isolated.read(slow)
    assert isolated.read(quick).text == "Quick."


def test_a_child_that_died_between_two_files_is_replaced(tmp_path, isolated):
    path = tmp_path / "a.txt"
    path.write_text("Text.")
    first = isolated.read(path)
    os.kill(isolated.process_id, signal.SIGKILL)
    assert isolated.read(path) == first


def test_a_forked_process_leaves_the_child_to_its_parent(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("Text.")
    read_isolated(path)
    if (fork := os.fork()) == 0:
        os._exit(0 if read_isolated(path).text == "Text." else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1]) == 0
    assert read_isolated(path).text == "Text."


def test_a_file_that_needs_too_much_memory_is_refused_and_the_next_one_is_read(tmp_path, isolated):
    big, quick = tmp_path / "big.txt", tmp_path / "quick.txt"
    big.write_bytes(b"word " * 12_000_000)
    quick.write_text("Quick.")
    with pytest.raises(DocumentRefused, match=f"memory|{CRASHED}"):
        isolated.read(big, limits=Limits(memory_bytes=256 * 1024 * 1024))
    assert isolated.read(quick).text == "Quick."


def test_the_child_gets_no_secret_of_the_workers_environment(tmp_path, isolated, monkeypatch):
    monkeypatch.setenv("RAG_SECRET_KEY", "secret")
    path = tmp_path / "a.txt"
    path.write_text("Text.")
    isolated.read(path)
    environment = Path(f"/proc/{isolated.process_id}/environ")
    if environment.exists():
        assert b"RAG_SECRET_KEY" not in environment.read_bytes()
