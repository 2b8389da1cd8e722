"""What of a web page is the page's own furniture, and what is its content."""

from __future__ import annotations

import re

from lxml import html

_TAGS = {"nav", "aside", "dialog", "menu"}
_ROLES = {
    "navigation",
    "banner",
    "contentinfo",
    "search",
    "dialog",
    "alertdialog",
    "menu",
    "menubar",
    "complementary",
}
_NAMES = re.compile(
    r"(?:^|[\s_-])(?:cookies?|consent|gdpr|breadcrumbs?|skip-?(?:nav|link|to)|skiplinks?|navbar|nav-?menu|site-?nav"
    r"|mega-?menu|social(?:-?media|-?links|-?share)?|share-?(?:bar|buttons?|links)|addtoany|newsletter|site-?footer"
    r"|site-?header|page-?footer|usa-banner)(?:$|[\s_-])",
    re.IGNORECASE,
)
# ` | Internal Revenue Service` after a page's own title.
_SITE_NAME = re.compile(r"\s\|\s[^|]*$")
_MAX_SHARE = 0.4
_LEAST_CONTENT = 25  # words
_BLOCK_PAGE = re.compile(
    r"request rate threshold exceeded|undeclared automated tool|verify (?:that )?you are (?:a )?human"
    r"|attention required! \| cloudflare|checking your browser before|enable javascript and cookies to continue"
    r"|are you a robot|unusual traffic from your|access denied.{0,200}reference #|please complete the captcha"
    r"|just a moment\.\.\.|please enable js and disable|press & hold to confirm|human verification"
    r"|used cloudflare to restrict access|using a security service to protect itself"
    r"|access to this page has been denied|pardon our interruption|request unsuccessful\. incapsula"
    r"|you have been blocked|bot detection",
    re.IGNORECASE | re.DOTALL,
)
_LONGEST_BLOCK_PAGE = 4_000
_ERROR = re.compile(
    r"^(?:error )?(?:40[0134]|429|50[0234])\b.{0,30}(?:forbidden|not found|requests|error|unavailable|time)"
    r"|^(?:page |file )?not found\b|^too many requests\b|^service (?:temporarily )?unavailable\b|^redirecting\b",
    re.IGNORECASE,
)
_LONGEST_ERROR = 400


def is_blocked(tree: html.HtmlElement) -> bool:
    """Tell whether the page is what a server sends to a robot instead of the document."""
    text = " ".join(tree.text_content().split())
    return len(text) < _LONGEST_BLOCK_PAGE and bool(_BLOCK_PAGE.search(text))


def is_error(tree: html.HtmlElement) -> bool:
    """Tell whether the page says that there is no document: a server's error, or a form to log in."""
    text = " ".join(" ".join(tree.itertext()).split())
    if len(text) > _LONGEST_ERROR:
        return False
    return bool(_ERROR.search(text)) or tree.find(".//input[@type='password']") is not None


def content(tree: html.HtmlElement) -> html.HtmlElement:
    """Return the element that holds the page's content, navigation, banners and footers removed from it."""
    whole = max(1, _size(tree))
    for element in list(tree.iter()):
        if isinstance(element.tag, str) and _is_chrome(element) and _size(element) < _MAX_SHARE * whole:
            element.drop_tree()
    mains = tree.xpath("//main | //*[@role='main']") or tree.xpath("//article")
    if len(mains) == 1 and _size(mains[0]) >= _LEAST_CONTENT:
        return mains[0]
    return tree


def page_title(tree: html.HtmlElement) -> str:
    """Return the page's main heading, else its title without the name of the site; "" where it has neither."""
    heading = tree.find(".//h1")
    text = heading.text_content() if heading is not None else tree.findtext(".//title") or ""
    text = _SITE_NAME.sub("", " ".join(text.split())).strip()
    return text if heading is not None or " " in text else ""  # some programs put the file's name there


def _is_chrome(element: html.HtmlElement) -> bool:
    if element.tag in ("html", "body", "main", "article") or element.getparent() is None:
        return False
    if element.tag in _TAGS or element.get("role", "") in _ROLES:
        return True
    if element.tag in ("header", "footer"):
        return not any(above.tag in ("article", "main", "section") for above in element.iterancestors())
    return bool(_NAMES.search(f"{element.get('id', '')} {element.get('class', '')}"))


def drop_unread(tree: html.HtmlElement) -> None:
    """Remove what a reader of today sees nothing of: what is shown without scripts or frames."""
    for element in list(tree.iter("noscript", "noframes", "template")):
        element.drop_tree()


def drop_code(tree: html.HtmlElement) -> None:
    """Remove scripts and styles, which are no text at all."""
    for element in list(tree.iter("script", "style")):
        element.drop_tree()


def _size(element: html.HtmlElement) -> int:
    return sum(len(text.split()) for text in element.itertext())
