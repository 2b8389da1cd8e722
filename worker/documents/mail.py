"""Mails (eml, msg) become blocks: who, when and about what, then the body, then the attachments."""

from __future__ import annotations

import codecs
import email
import email.policy
import io
from collections.abc import Iterable, Iterator
from dataclasses import replace
from email.message import EmailMessage, MIMEPart

import oxmsg

from worker.documents.blocks import Block
from worker.documents.cleaning import clean
from worker.documents.encoding import decode
from worker.documents.markup import blocks, parse, read_html
from worker.documents.nesting import Container
from worker.documents.text import paragraphs
from worker.errors import DocumentRefused, NothingToIndex

_HEADERS = ("Subject", "From", "To", "Cc", "Date")
_SIGNATURES = {"pkcs7-signature", "x-pkcs7-signature", "pgp-signature"}
_ARMOUR = b"-----BEGIN PGP MESSAGE-----"
_HTML = 0x1013
"""Outlook's number for a body in HTML."""
_ENCRYPTED = {"application/pkcs7-mime", "application/x-pkcs7-mime", "multipart/encrypted"}


def read_eml(data: bytes, container: Container) -> Iterator[Block]:
    """Yield a mail's headers, its body (the plain one of two alternatives) and what its attachments hold.

    Raises DocumentRefused where it is encrypted, NothingToIndex where nobody wrote anything.
    """
    message = _parsed(data)
    if any(part.get_content_type() in _ENCRYPTED for part in message.walk()):
        raise DocumentRefused("is encrypted; save the decrypted message")
    headers = ((name, _header(message, name)) for name in _HEADERS)
    body = message.get_body(("plain", "html")) or (message if message.get_content_maintype() == "text" else None)
    if body is not None and _payload(body).lstrip().startswith(_ARMOUR):
        raise DocumentRefused("is encrypted; save the decrypted message")
    content = _text(body) if body is not None else iter(())
    parts = (part for part in message.iter_attachments() if not _is_dressing(part))
    attached = ((part.get_filename() or _default_name(part), _payload(part)) for part in parts)
    yield from _message(headers, content, container.attachments(attached))


def read_mht(data: bytes, container: Container) -> Iterator[Block]:
    """Yield the page that a browser saved as one file; its pictures and styles are no content."""
    page = _parsed(data).get_body(("html", "plain"))
    if page is None:
        raise NothingToIndex("holds no web page")
    return read_html(_payload(page), container)


def _parsed(data: bytes) -> EmailMessage:
    message = email.message_from_bytes(data.removeprefix(codecs.BOM_UTF8), policy=email.policy.default)
    assert isinstance(message, EmailMessage)  # what this policy makes
    return message


def read_msg(data: bytes, container: Container) -> Iterator[Block]:
    """Yield the same of an Outlook message."""
    message = oxmsg.Message.load(io.BytesIO(data))
    headers = [("Subject", message.subject), ("From", message.sender or "")]
    headers += [("To", ", ".join(f"{one.name} <{one.email_address}>" for one in message.recipients))]
    headers += [("Date", message.sent_date.isoformat(" ", "minutes") if message.sent_date else "")]
    content = paragraphs(message.body) if message.body else _page(message.properties.binary_prop_value(_HTML) or b"")
    attached = ((one.file_name or "unnamed", one.file_bytes or b"") for one in message.attachments)
    yield from _message(headers, content, container.attachments(attached))


def _message(headers: Iterable[tuple[str, str]], *contents: Iterator[Block]) -> Iterator[Block]:
    """Yield the mail under its subject, which is the first of the headers."""
    known = [(name, " ".join(clean(value).split())) for name, value in headers]
    written = [block for content in contents for block in content if block.text.strip()]
    if not written:
        raise NothingToIndex("holds no text: a message without a body")
    if known[0][1]:
        yield Block(known[0][1], level=1)
    yield Block("\n".join(f"{name}: {value}" for name, value in known if value), location="message headers")
    for block in written:
        yield block if block.location else replace(block, location="message body")


def _header(message: EmailMessage, name: str) -> str:
    try:
        return str(message.get(name, ""))
    except (ValueError, IndexError, LookupError):  # a header that breaks the standard library's own parser
        return ""


def _text(part: MIMEPart) -> Iterator[Block]:
    text = decode(_payload(part), declared=part.get_content_charset() or "")
    return blocks(parse(text)) if part.get_content_subtype() == "html" else paragraphs(text)


def _page(data: bytes) -> Iterator[Block]:
    return blocks(parse(decode(data))) if data.strip() else iter(())


def _payload(part: MIMEPart) -> bytes:
    if part.get_content_type() == "message/rfc822":
        return b"".join(inner.as_bytes() for inner in part.iter_parts() if isinstance(inner, MIMEPart))
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _is_dressing(part: EmailMessage) -> bool:
    """Tell what nobody attached: pictures inside the text, signatures of the mail program."""
    inline = part.get_content_maintype() == "image" and part.get_content_disposition() != "attachment"
    return inline or part.get_content_subtype() in _SIGNATURES


def _default_name(part: EmailMessage) -> str:
    kinds = {"message/rfc822": "message.eml", "text/html": "part.html", "application/pdf": "part.pdf"}
    return kinds.get(part.get_content_type(), "part.txt" if part.get_content_maintype() == "text" else "unnamed")
