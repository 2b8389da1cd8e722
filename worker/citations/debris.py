"""What a model leaves around its answer: reasoning, template tokens, role labels, a next turn, a repetition loop."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby

_REASONING = "think|thinking|thought|reasoning|scratchpad|analysis"
_CLOSING = re.compile(rf"(?:<|◁)/(?:{_REASONING})(?:>|▷)|\[/INST\]", re.I)
_OPENING = re.compile(rf"(?:<|◁)(?:{_REASONING})(?:>|▷)", re.I)
_FINAL_CHANNEL = re.compile(r"<\|channel\|>final<\|message\|>")
_END = re.compile(
    r"<\|(?:im_end|eot_id|eom_id|end|endoftext|end_of_text|return|end_of_turn|eot)\|>|</s>|<end_of_turn>|"
    r"<eos>|<｜end▁of▁sentence｜>",
    re.I,
)
_TOKEN = re.compile(
    r"(?:<\|(?:im_start|start_header_id|start)\|>|<start_of_turn>)\s*(?:assistant|model)?\s*(?:<\|"
    r"end_header_id\|>|<\|message\|>)?"
    r"|<\|[\w ▁]{1,40}\|>|<｜[\w ▁]{1,40}｜>|</?s>|<(?:bos|eos|pad|unk|start_of_turn|end_of_turn)>|\[/?INST\]|"
    r"<</?SYS>>|</?(?:tool|function)_call>",
    re.I,
)
_ROLE = re.compile(
    r"\s*(?:[*_#]*[ ]?(?:assistant|ai|bot|model|final answer|answer|response|antwort|respuesta|"
    r"réponse)[*_]*\s*[:：][*_]*\s*)+",
    re.I,
)
_NEXT_TURN = re.compile(
    r"^[ \t>*_#]*(?:question|user|human|instruction|q(?=[*_]*:[^\n]{0,400}\n+[ \t*_]*a[*_]*:))[*_]*[ \t]*[:：]",
    re.I | re.M,
)
_TAGGED_ANSWER = re.compile(r"</?(?:answer|final_answer|response|output)>", re.I)
# One line or sentence, three times or more in a row, is a loop: nothing is lost when it is said once.
_SENTENCE = re.compile(r"[^.!?\n]++(?:[.!?]++|\n|\Z)(?:[ \t]*(?:\[[^\]\n]{1,40}\]|\([^)\n]{1,40}\)))*\s*|[.!?\n]")
_LOOP = 3
_LEAST_LOOPED = 12
"""Characters: shorter runs repeat in honest text, as in a list of dashes."""


@dataclass(frozen=True, slots=True)
class Cleaned:
    """An answer without debris, and what was cut off behind it."""

    text: str
    tail: str = ""
    """What the model went on to write after its answer had ended; no part of the answer."""
    truncated: bool = False
    """The reasoning never ended, so there is no answer."""
    looped: bool = False


def strip_debris(text: str) -> Cleaned:
    """Take a model's output apart into its answer and the rest; template names follow the public chat formats."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text, truncated = _without_reasoning(text)
    text, tail = _until_the_end(text)
    text = _TAGGED_ANSWER.sub("", text)
    if role := _ROLE.match(text):
        text = text[role.end() :]
    text, looped = _without_loop(text)
    return Cleaned(text, tail, truncated, looped)


def _without_reasoning(text: str) -> tuple[str, bool]:
    """Everything up to the last closing tag is reasoning, and so is everything after an opening tag left open."""
    channels = list(_FINAL_CHANNEL.finditer(text))
    if channels:
        text = text[channels[-1].end() :]
    closings = list(_CLOSING.finditer(text))
    if not closings:
        opening = _OPENING.search(text)
        return (text[: opening.start()], True) if opening else (text, False)
    before, after = text[: closings[-1].start()], text[closings[-1].end() :]
    if not after.strip() and (opening := _OPENING.search(before)):
        after = before[: opening.start()]  # the answer came first, the reasoning behind it
    rest, truncated = _without_reasoning(after) if _OPENING.search(after) else (after, False)
    return rest, truncated


def _until_the_end(text: str) -> tuple[str, str]:
    """Cut at the first end-of-turn token or invented next question that has an answer before it."""
    cuts = [match for pattern in (_END, _NEXT_TURN) for match in pattern.finditer(text)]
    for match in sorted(cuts, key=lambda match: match.start()):
        answer = _TOKEN.sub("", text[: match.start()])
        if answer.strip():
            return answer, text[match.start() :]
    return _TOKEN.sub("", text), ""


def _without_loop(text: str) -> tuple[str, bool]:
    """Every sentence of a run of three or more equal ones goes, but the first."""
    sentences = [match[0] for match in _SENTENCE.finditer(text)]
    kept: list[str] = []
    for _, run in groupby(sentences, key=str.strip):
        same = list(run)
        looped = len(same) >= _LOOP and len(same[0].strip()) >= _LEAST_LOOPED
        kept += same[:1] if looped else same
    return "".join(kept), len(kept) < len(sentences)
