"""Mails: headers, body and attachments, each findable as what it is."""

from __future__ import annotations

from email.message import EmailMessage
from pathlib import Path

import pytest

from worker.documents import Limits, read_document
from worker.errors import DocumentRefused, NothingToIndex
from worker.records import Document


@pytest.fixture
def read(tmp_path: Path):
    """Read a message as an .eml file."""

    def read_eml(message: EmailMessage | bytes, **options) -> Document:
        path = tmp_path / "mail.eml"
        path.write_bytes(message if isinstance(message, bytes) else bytes(message))
        return read_document(path, **options)

    return read_eml


def mail(body: str = "The limit is $7,000.", subject: str = "IRA limits für 2025") -> EmailMessage:
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = subject, "ann@example.com", "bob@example.com"
    message.set_content(body)
    return message


def parts(document: Document) -> list[tuple[str, str]]:
    return [(one.location, document.text[one.start : one.end]) for one in document.sections]


def test_a_mail_knows_its_headers_and_its_body(read):
    document = read(mail())
    assert parts(document) == [
        ("message headers", "Subject: IRA limits für 2025\nFrom: ann@example.com\nTo: bob@example.com"),
        ("message body", "The limit is $7,000."),
    ]
    assert document.sections[1].heading == ("IRA limits für 2025",)


def test_of_two_alternatives_the_plain_one_is_read(read):
    message = mail()
    message.add_alternative("<p>The limit is <b>$7,000</b>.</p>", subtype="html")
    assert parts(read(message))[1:] == [("message body", "The limit is $7,000.")]


def test_a_body_in_html_alone_is_read(read):
    message = mail()
    message.set_content("<p>The limit is <b>$7,000</b>.</p><script>x()</script>", subtype="html")
    assert parts(read(message))[1:] == [("message body", "The limit is $7,000.")]


def test_attachments_are_read_and_one_that_cannot_be_read_costs_itself_alone(read):
    message = mail()
    message.add_attachment(b"\xff\xfebinary", maintype="image", subtype="png", filename="logo.png")
    message.add_attachment(b"year,rate\n2024,3.2%\n", maintype="text", subtype="csv", filename="rates.csv")
    assert parts(read(message))[2:] == [('attachment "rates.csv", row 2', "year: 2024 | rate: 3.2%")]


def test_mails_inside_mails_are_followed_to_the_set_depth(read):
    inner = mail("The innermost text.", "Inner")
    for _ in range(5):
        outer = mail("An outer text.", "Outer")
        outer.add_attachment(inner)
        inner = outer
    text = read(inner, limits=Limits(max_depth=2)).text
    assert text.count("An outer text.") == 3
    assert "innermost" not in text


def test_a_message_without_a_body_has_nothing_to_index(read):
    with pytest.raises(NothingToIndex, match="without a body"):
        read(b"Subject: Nothing\nFrom: ann@example.com\nContent-Type: multipart/mixed; boundary=x\n\n--x--\n")


def test_an_encrypted_message_is_refused(read):
    message = b"Subject: Secret\nContent-Type: application/pkcs7-mime; name=smime.p7m\n\nMIAGCSqGSIb3DQEHA6CA\n"
    with pytest.raises(DocumentRefused, match="encrypted"):
        read(message)


def test_a_charset_that_does_not_exist_does_not_stop_the_reading(read):
    message = b"Subject: Odd\nContent-Type: text/plain; charset=no-such\n\nThe deductible is 500 dollars.\n"
    assert parts(read(message))[1] == ("message body", "The deductible is 500 dollars.")


def test_what_of_the_attachments_could_not_be_read_is_told(read):
    message = mail()
    message.add_attachment(b"\x00\x01", maintype="application", subtype="octet-stream", filename="winmail.dat")
    message.add_attachment(b"PK broken", maintype="application", subtype="zip", filename="plan.docx")
    warnings = read(message).warnings
    assert [warning.split(" inside it")[0] for warning in warnings] == ['"winmail.dat"', '"plan.docx"']


def test_pictures_in_the_text_and_signatures_are_no_attachments(read):
    message = mail()
    message.add_related(b"\x89PNG", maintype="image", subtype="png", cid="<logo>")
    message.make_mixed()
    message.add_attachment(b"MII=", maintype="application", subtype="pkcs7-signature", filename="smime.p7s")
    assert read(message).warnings == ()


def test_the_heading_of_one_attachment_does_not_stand_above_the_next(read):
    message = mail()
    message.add_attachment(b"# Fees\n\nFive dollars.", maintype="text", subtype="markdown", filename="a.md")
    message.add_attachment(b"Plan,Fee\nA,5\n", maintype="text", subtype="csv", filename="b.csv")
    headings = [section.heading[1:] for section in read(message).sections]
    assert headings == [(), (), ("Fees",), ()]


def test_an_attachment_that_breaks_its_parser_costs_itself_alone(read):
    message = mail()
    message.add_attachment(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" * 99, maintype="a", subtype="b", filename="x.msg")
    document = read(message)
    assert "The limit is $7,000." in document.text
    assert "is damaged" in document.warnings[0]


def test_a_byte_order_mark_does_not_hide_the_headers(read):
    assert read(b"\xef\xbb\xbf" + bytes(mail())).title == "IRA limits für 2025"


def test_an_armoured_message_is_refused(read):
    with pytest.raises(DocumentRefused, match="encrypted"):
        read(mail("-----BEGIN PGP MESSAGE-----\n\nhQEMA6Yx\n-----END PGP MESSAGE-----"))


def test_a_web_page_saved_as_one_file_is_read_as_a_page(tmp_path):
    page = EmailMessage()
    page["Subject"] = "Saved page"
    page.set_content("<nav>Home</nav><h1>Rules</h1><p>The café is open.</p>", subtype="html")
    page.add_related(b"body {}", maintype="text", subtype="css", cid="<style>")
    (tmp_path / "page.mht").write_bytes(bytes(page))
    document = read_document(tmp_path / "page.mht")
    assert (document.title, document.text) == ("Rules", "The café is open.")
