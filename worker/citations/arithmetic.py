"""Finds the working that an answer shows, `$7,000 x 2 = $14,000`, and does the sum again."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, DecimalException

from worker.citations.numerals import Figure

_OPERATORS = (
    (re.compile(r"[x×*·]|\btimes\b|\bmultiplied by\b", re.I), "*"),
    (re.compile(r"[-−–]|\bminus\b|\bless\b", re.I), "-"),
    (re.compile(r"\+|\bplus\b", re.I), "+"),
    (re.compile(r"[/÷]|\bdivided by\b", re.I), "/"),
)
_OF = re.compile(r"\s*of\s+(?:your |the |an? |that |those )?(?:[a-z]+ ){0,3}$", re.I)
_EQUALS = re.compile(
    r"[=≈]|(?:^|\s)(?:is|equals|makes|gives|comes to|totals?|amounts to|would be|or|→|->)\s+(?:about |"
    r"roughly |approximately )?$",
    re.I,
)
_GAP = re.compile(r"[\s()\[\]x×*·+/÷−–-]*|\s*\(?\s*(?:times|multiplied by|minus|plus|divided by|less)\s*\(?\s*", re.I)
_EVALUATE: dict[type[ast.operator], Callable[[Decimal, Decimal], Decimal]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
}  # fmt: skip
_LONGEST = 12
"""Operands: longer sums are not read."""


@dataclass(frozen=True, slots=True)
class Working:
    """One calculation that a sentence shows; the numbers are places in the sentence's list of figures."""

    operands: tuple[int, ...]
    result: int
    correct: bool


def shown_workings(text: str, figures: Sequence[Figure]) -> list[Working]:
    """Every calculation between neighbouring figures that ends in a result."""
    workings: list[Working] = []
    first = 0
    for index in range(len(figures) - 1):
        gap = text[figures[index].end : figures[index + 1].start]
        if _joins(gap):
            continue
        if first < index and _EQUALS.search(gap) and index - first < _LONGEST:
            span = range(first, index + 1)
            workings.append(
                Working(tuple(span), index + 1, _is_correct(text, [figures[i] for i in span], figures[index + 1]))
            )
        first = index + 1
    return workings


def _joins(gap: str) -> bool:
    operators = any(pattern.search(gap) for pattern, _ in _OPERATORS)
    return bool(_OF.fullmatch(gap) or (operators and _GAP.fullmatch(gap)))


def _is_correct(text: str, operands: Sequence[Figure], result: Figure) -> bool:
    value = _evaluate(_expression(text, operands))
    if value is None:
        return False
    wanted = _fraction(result)
    tolerance = result.step * (Decimal("0.01") if result.unit == "percent" else 1) * Decimal("0.51")
    readings = [value, value * 100] if result.unit != "percent" else [value, value / 100]
    return any(
        abs(abs(reading) - abs(wanted)) <= max(tolerance, abs(wanted) * Decimal("0.0005"))
        for reading in readings[: 2 if result.unit == "percent" else 1]
    )


def _fraction(figure: Figure) -> Decimal:
    return figure.value / 100 if figure.unit == "percent" else figure.value


def _expression(text: str, operands: Sequence[Figure]) -> str:
    """The operands as decimals with the operators and parentheses that stand between them."""
    start = operands[0].start
    lead = re.search(r"[(\[]*$", text[max(0, start - 4) : start])
    parts = [lead[0] if lead else ""]
    for index, figure in enumerate(operands):
        parts.append(f"{'-' if figure.sign == '-' else ''}{_fraction(figure)}")
        if index + 1 < len(operands):
            gap = text[figure.end : operands[index + 1].start]
            parts.append("*" if _OF.fullmatch(gap) else _symbols(gap))
    expression = "".join(parts)
    return expression + ")" * (expression.count("(") - expression.count(")"))


def _symbols(gap: str) -> str:
    for pattern, symbol in _OPERATORS:
        gap = pattern.sub(symbol, gap)
    return re.sub(r"[^-+*/()]", "", gap.replace("[", "(").replace("]", ")"))


def _evaluate(expression: str) -> Decimal | None:
    try:
        return _value(ast.parse(expression, mode="eval").body, expression)
    except (SyntaxError, ValueError, DecimalException, RecursionError, KeyError):
        return None


def _value(node: ast.expr, source: str) -> Decimal:
    if isinstance(node, ast.BinOp):
        return _EVALUATE[type(node.op)](_value(node.left, source), _value(node.right, source))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, source)
    return Decimal(ast.get_source_segment(source, node) or "")
