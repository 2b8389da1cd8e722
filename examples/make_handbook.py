"""Writes the PDF and Word files of the demo handbook; the text, Markdown and HTML files are kept as they are.

Run `python examples/make_handbook.py`. A line that begins with `# ` is a title, with `## ` a heading; a tuple
of rows is a table, whose first row is its header.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import docx
from docx.oxml import OxmlElement
from reportlab.lib import colors
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Flowable, Paragraph, SimpleDocTemplate, Table, TableStyle

Rows = tuple[tuple[str, ...], ...]
Page = tuple[str | Rows, ...]

HANDBOOK = Path(__file__).parent / "handbook"


def auto_policy(year: int, *, collision: str, comprehensive: str, liability: Rows, rental: str, changes: str) -> Page:
    """Return the summary of one policy year; the two years differ in nothing but these figures."""
    return (
        f"# Auto policy summary {year}",
        f"Policy HL-AUTO-{year} of Tidewater Mutual, arranged for Harborlight clients. "
        f"The policy period runs from January 1, {year} to December 31, {year}.",
        "## Deductibles",
        f"The collision deductible is {collision} per accident. The comprehensive deductible is "
        f"{comprehensive} per loss. Glass repair has no deductible.",
        "## Liability limits",
        liability,
        "## Rental car",
        f"While the insured car is being repaired after a covered loss, the policy pays up to {rental} a day "
        "for a rental car, for at most 30 days.",
        "## What is not covered",
        "The policy does not cover racing, deliveries for pay, or a driver who is excluded by name. Personal "
        "belongings stolen from the car are not covered.",
        "## How to make a claim",
        "Report an accident within 72 hours. Claims are paid within 20 business days after all "
        "documents have arrived. A claim of less than the deductible should not be reported as a "
        "claim.",
        "## Changes from the year before",
        changes,
    )


AUTO_2023 = auto_policy(
    2023,
    collision="$500",
    comprehensive="$250",
    liability=(
        ("Coverage", "Limit"),
        ("Bodily injury, per person", "$100,000"),
        ("Bodily injury, per accident", "$300,000"),
        ("Property damage, per accident", "$50,000"),
    ),
    rental="$30",
    changes="There are no changes from the year before.",
)
AUTO_2024 = auto_policy(
    2024,
    collision="$1,000",
    comprehensive="$400",
    liability=(
        ("Coverage", "Limit"),
        ("Bodily injury, per person", "$250,000"),
        ("Bodily injury, per accident", "$500,000"),
        ("Property damage, per accident", "$100,000"),
    ),
    rental="$45",
    changes="Both deductibles and all liability limits were raised, and the rental car allowance with them. "
    "Roadside assistance is included for the first time, up to four calls a year.",
)
SOCIAL_SECURITY: Page = (
    "# Claiming Social Security",
    "## Full retirement age",
    "The full retirement age is 67 for everybody born in 1960 or later. For people born from 1943 to 1954 it "
    "was 66, and for the years between it rises by two months a year.",
    "## Claiming early or late",
    "Benefits can start at age 62 at the earliest. With a full retirement age of 67, claiming at 62 "
    "reduces the monthly benefit by 30 percent. Waiting beyond full retirement age raises it by 8 "
    "percent a year until age 70. After age 70 there is nothing more to gain.",
    (
        ("Claiming age", "Share of the full benefit"),
        ("62", "70 percent"),
        ("65", "86.7 percent"),
        ("67", "100 percent"),
        ("68", "108 percent"),
        ("70", "124 percent"),
    ),
    "## Working while claiming",
    "Before full retirement age, $1 of benefits is withheld for every $2 earned above the annual "
    "limit. The limit is $23,400 for 2025 and was $22,320 for 2024. From the month of full retirement "
    "age nothing is withheld.",
    "## Taxes",
    "Up to 85 percent of the benefit is taxable as income, depending on combined income. Wages are "
    "subject to Social Security tax up to $176,100 in 2025 and up to $168,600 in 2024.",
    "## Spouses",
    "A spouse may receive up to 50 percent of the worker's full benefit. A surviving spouse may "
    "receive up to 100 percent of what the worker received.",
    "## Our rule",
    "For a married couple the higher earner should usually wait until 70, because the larger benefit "
    "continues for the survivor.",
)
VESTING: Page = (
    "# Vesting of employer contributions",
    "An employee always owns 100 percent of his or her own deferrals. Vesting decides how much of the "
    "employer's contributions an employee keeps when leaving.",
    "## The Harborlight 401(k) plan",
    "Harborlight matches 50 percent of the first 6 percent of pay that an employee defers. The match "
    "vests on a six-year graded schedule: nothing in the first year, then 20 percent after two years "
    "of service and another 20 percent each year after that.",
    (
        ("Years of service", "Share of the match that is vested"),
        ("1", "0 percent"),
        ("2", "20 percent"),
        ("3", "40 percent"),
        ("4", "60 percent"),
        ("5", "80 percent"),
        ("6 or more", "100 percent"),
    ),
    "After four years of service, 60 percent of the employer match is vested.",
    "## A year of service",
    "A year of service is a calendar year in which the employee works at least 1,000 hours.",
    "## Cliff vesting",
    "Some clients' plans use cliff vesting instead. Under a three-year cliff nothing is vested before "
    "the end of the third year, and 100 percent after it. Three years is the longest cliff that the "
    "law allows for a match.",
    "## When everything vests at once",
    "All employer contributions vest at once when the employee reaches the plan's normal retirement "
    "age of 65, and when the plan is terminated. In the Harborlight plan they also vest on death or "
    "disability.",
    "## Forfeitures",
    "What is not vested when an employee leaves is forfeited after five years without service. "
    "Forfeitures pay plan expenses or reduce later employer contributions.",
)
BENEFICIARIES: Page = (
    "# Beneficiary designations",
    "A beneficiary designation decides who receives a retirement account or a life insurance policy. It "
    "overrides the will.",
    "## Who may be named",
    "The spouse is the beneficiary of a 401(k) plan by law. Naming anybody else requires the spouse's "
    "written consent, witnessed by a notary or by a plan representative. For an IRA federal law "
    "requires no consent, but some community property states do.",
    "Always name a contingent beneficiary. It receives the account if the primary beneficiary has died or "
    "declines the inheritance.",
    "## Inherited accounts",
    "Most beneficiaries other than a spouse must empty an inherited IRA by the end of the tenth year "
    "after the year of death. A surviving spouse may treat the IRA as his or her own.",
    (
        ("Beneficiary", "Rule for an inherited IRA"),
        ("Surviving spouse", "May treat the account as his or her own"),
        ("Minor child of the owner", "Life expectancy until age 21, then ten years"),
        ("Disabled or chronically ill person", "Life expectancy"),
        ("Person not more than ten years younger", "Life expectancy"),
        ("Other person", "Ten years"),
    ),
    "## Minor children",
    "A minor cannot own the account directly. Name a trust or a custodian under the Uniform Transfers to Minors Act.",
    "## When to review",
    "Review every designation after a marriage, a divorce, a birth or a death, and at least every "
    "three years. A divorce does not remove a former spouse from a 401(k) plan automatically.",
    "## Disclaiming",
    "A beneficiary who does not want the inheritance has nine months from the date of death to disclaim it.",
)
COLLEGE: Page = (
    "# College savings with a 529 plan",
    "Money in a 529 plan grows without tax, and withdrawals are free of federal tax when they pay for "
    "qualified education expenses.",
    "## Contributions",
    "There is no federal annual limit, but contributions are gifts. The annual gift tax exclusion is "
    "$19,000 per recipient for 2025 and was $18,000 for 2024. A married couple may give twice as "
    "much.",
    "A donor may put five years of gifts into a 529 plan at once: $95,000 in 2025, or $190,000 for a "
    "couple. No further excluded gift to the same child is then possible for five years.",
    "## Qualified expenses",
    (
        ("Expense", "Limit in 2025"),
        ("College tuition, fees, books and supplies", "none"),
        ("Room and board, at least half-time student", "the college's published cost"),
        ("Elementary and secondary school tuition", "$10,000 a year per student"),
        ("Student loan repayment", "$10,000 over a lifetime"),
    ),
    "## Other withdrawals",
    "The earnings part of any other withdrawal is taxed as income and bears an additional tax of 10 "
    "percent. The additional tax does not apply up to the amount of a scholarship.",
    "## Money that is left over",
    "The beneficiary can be changed to another member of the family at any time. Since 2024 up to "
    "$35,000 over a lifetime may be rolled into a Roth IRA of the beneficiary, if the 529 account has "
    "been open for at least 15 years. The IRA contribution limit applies each year.",
    "## Our rule",
    "Save for retirement first. A student can borrow for college; nobody lends for retirement.",
)


def write_pdf(path: Path, page: Page) -> None:
    """Write a page as PDF, the same bytes each time."""
    styles = getSampleStyleSheet()

    def flow(block: str | Rows) -> Flowable:
        if isinstance(block, tuple):
            grid = TableStyle([("GRID", (0, 0), (-1, -1), 0.5, colors.grey)])
            return Table(block, style=grid, hAlign="LEFT", spaceBefore=6, spaceAfter=6)
        style, text = _style(block, {"# ": "Title", "## ": "Heading2", "": "BodyText"})
        return Paragraph(text, styles[style])

    template = SimpleDocTemplate(str(path), title=str(page[0])[2:], author="Harborlight Planning", invariant=1)
    template.build([flow(block) for block in page])


def write_docx(path: Path, page: Page) -> None:
    """Write a page as a Word file with real headings and tables."""
    document = docx.Document()
    for block in page:
        if isinstance(block, tuple):
            table = document.add_table(rows=0, cols=len(block[0]), style="Table Grid")
            for row in block:
                for cell, text in zip(table.add_row().cells, row, strict=True):
                    cell.text = text
            table.rows[0]._tr.get_or_add_trPr().append(OxmlElement("w:tblHeader"))
        else:
            style, text = _style(block, {"# ": "Heading 1", "## ": "Heading 2", "": "Normal"})
            document.add_paragraph(text, style=style)
    properties = document.core_properties
    properties.title, properties.author = str(page[0])[2:], "Harborlight Planning"
    properties.created = properties.modified = datetime(2025, 1, 15)
    document.save(str(path))


def _style(block: str, styles: dict[str, str]) -> tuple[str, str]:
    prefix = next(prefix for prefix in styles if block.startswith(prefix))
    return styles[prefix], block.removeprefix(prefix)


FILES: dict[str, tuple[Callable[[Path, Page], None], Page]] = {
    "auto_policy_2023.pdf": (write_pdf, AUTO_2023),
    "auto_policy_2024.pdf": (write_pdf, AUTO_2024),
    "social_security.pdf": (write_pdf, SOCIAL_SECURITY),
    "vesting.docx": (write_docx, VESTING),
    "beneficiaries.docx": (write_docx, BENEFICIARIES),
    "college_savings.docx": (write_docx, COLLEGE),
}


def main() -> None:
    """Write every PDF and Word file of the handbook."""
    HANDBOOK.mkdir(exist_ok=True)
    for name, (write, page) in FILES.items():
        write(HANDBOOK / name, page)


if __name__ == "__main__":
    main()
