"""Tells a refusal from an answer, sentence by sentence, in the languages users meet."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

# Sentences are compared in lower case with "n't" written out, so each pattern is written once.
_SPELLINGS = (
    (re.compile(r"[\"“][^\"”\n]*[\"”]"), '""'),  # what is quoted is somebody else's refusal
    (re.compile(r"[’`]"), "'"),
    (re.compile(r"\bcan(?:'t| not)\b"), "cannot"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"'m\b"), " am"),
    (re.compile(r"'s\b"), " is"),
    (re.compile(r"\s+"), " "),
)
# What was handed over. A policy is not in here: one that "does not cover floods" is an answer.
_MATERIAL = (
    r"(?:contexts?|information|documents?|texts?|passages?|sources?|materials?|excerpts?|data|articles?|"
    r"files?|evidence|references?|"
    r"contents?|snippets?|paragraphs?|search results?|documentation|knowledge base)"
)
_PAPER = (
    r"(?:policy|policies|plans?|filings?|reports?|statements?|pages?|tables?|guides?|records?|letters?|"
    r"neither|it|they)"
)
_TELL = (
    r"(?:mention|specify|state|say|discuss|address|disclose|describe|indicate|explain|reveal|clarify|refer|speak|talk|"
    r"tell|answer)(?:s|ed)?"
)
_HOLD = (
    rf"(?:{_TELL}|(?:contain|provide|include|give|cover|list|offer|report|show|have|detail|reference|present|"
    rf"identify|name|supply|"
    r"confirm|hold|make|support|allow|help|seem|appear|enable|directly|explicitly)s?)"
)
_FIND = (
    r"(?:answer|find|determine|provide|give|locate|calculate|tell|say|confirm|help|assist|know|see|identify|"
    r"compute|offer|derive|verify|"
    r"speak|respond|comment|conclude|assess|establish|discern|recommend|state|draw|advise|infer|extract|"
    r"ascertain|estimate|access)"
)
_STATED = (
    r"(?:mentioned|provided|specified|stated|given|included|available|disclosed|contained|found|discussed|"
    r"addressed|listed|present|"
    r"described|indicated|reported|answerable)"
)
_NOT = r"(?:(?:do|does|did|is|are|was|were|has|have|could|would) not|cannot|never)"
_ADVERBS = r"(?:\w+ly |seem to |appear to |even |yet )*"
_KNOWLEDGE = (
    r"(?:information|mention|details?|data|evidence|context|indication|discussion|answer|knowledge|access|idea|"
    r"reference)"
)
_PATTERNS = (
    # I could not find; unable to determine
    rf"\b(?:i|we)(?: am| was| are| were)?(?: \w+)? (?:cannot|(?:could|do|did|will) not|(?:not able|unable) to|"
    rf"failed to) {_ADVERBS}{_FIND}\b",
    rf"^\W*(?:unable to|cannot|not able to) {_FIND}\b",
    # the documents do not mention; the plan does not say
    rf"\b{_MATERIAL}\b[^.!?]{{0,80}}? (?:{_NOT}|not) {_ADVERBS}(?:{_HOLD}|{_STATED}|sufficient|enough|clear)\b",
    rf"\b{_PAPER}(?: provided| itself)? {_NOT} {_ADVERBS}{_TELL}\b",
    rf"\b(?:none|neither|nothing) (?:of|in|from|about) [^.!?]{{0,60}}?(?:{_HOLD}|{_MATERIAL})\b",
    rf"\b{_MATERIAL} (?:only )?(?:lacks?|omits?|leaves? out|fails? to {_HOLD}|(?:is|are) silent)\b",
    # is not stated in the documents; the answer is not present
    rf"\b(?:not|nowhere) {_ADVERBS}{_STATED}\b[^.!?]{{0,40}}?\b(?:in|by|from|within|"
    rf"on) (?:[\w-]+ ){{0,3}}?{_MATERIAL}\b",
    rf"\banswer (?:to [^.!?]{{0,80}} )?is not (?:{_STATED}|in)\b|\bnot (?:covered|{_STATED}) in what\b|"
    rf"\bno,? (?:the )?answer (?:is )?(?:not )?(?:{_STATED}|present)\b",
    # there is no information about; I do not have enough data
    rf"\b(?:there (?:is|was|are)|has|have|contains?|provides?|gives?|with|due to|find|found|offers?|see) "
    rf"(?:no|insufficient|little|not enough|not any) (?:(?!(?:change|for|of|"
    rf"to)\b)[\w'-]+ ){{0,3}}?{_KNOWLEDGE}\b(?! (?:deadline|is (?:needed|required)))",
    rf"\b(?:do|does|did|is) not (?:(?:have|contain|provide|find|give) )?(?:any|an|enough|sufficient|"
    rf"access)\b(?: [\w'-]+){{0,3}}? ?{_KNOWLEDGE}\b",
    rf"^\W*(?:no|insufficient|not enough) (?:[\w'-]+ ){{0,3}}?{_KNOWLEDGE}\b(?! (?:deadline|is (?:needed|required)))",
    r"\bdo not have access\b|\b(?:not|in)sufficient to \w+",
    rf"\bmakes? no mention\b|\b(?:i|we) lack (?:\w+ )?{_KNOWLEDGE}\b",
    r"\b(?:found|find|see|contains?|says?|there is|there was|states?) nothing\b",
    # cannot be determined; it is not clear from
    r"\b(?:cannot|could not) be (?:answered|determined|calculated|found|derived|inferred|established|"
    r"ascertained|computed|verified)\b",
    r"\bit is (?:not |im|un)(?:possible|clear|known|stated|specified) (?:to|from|in|based|whether|what|how|"
    r"who|when|where)\b",
    r"^\W*(?:unknown|n/?a|none|not (?:available|applicable|specified|stated|provided|mentioned|found|sure)|"
    r"i am not sure)\W*$",
    rf"\bas an? (?:ai\b|artificial intelligence|large language)|\b(?:outside|beyond) (?:of )?(?:the )?(?:scope|"
    rf"my knowledge|what the|{_MATERIAL})\b",
    # German, Dutch
    r"\b(?:ich|wir|ik) (?:kann|können|habe|haben|weiß|wissen|finde|kan|heb|weet|vind)\b[^.!?]{0,60}\b(?:nicht|"
    r"keine?n?|niet|geen)\b",
    r"\b(?:dokumente?n?|unterlagen|texte?n?|quellen?|kontext|informationen|documenten|teksten|bronnen|"
    r"informatie)\b[^.!?]{0,60}"
    r"\b(?:nicht|keine?n?|nichts|niet|geen|niets)\b|\b(?:keine|geen) (?:antwort|antwoord|angaben?|"
    r"informatione?n?|informatie)\b",
    r"\b(?:kann|können|weiß|finde|kan|weet|vind) (?:ich|wir|ik)\b[^.!?]{0,60}\b(?:nicht|keine?n?|niet|geen)\b|"
    r"\b(?:nicht|niet|keine?|geen|nichts|niets)\b[^.!?]{0,30}\b(?:in|aus|uit) (?:den|de|dem|der)? ?(?:dokumenten|"
    r"unterlagen|texten|"
    r"quellen|documenten|teksten|bronnen)\b",
    # Spanish, Italian, Portuguese, French
    r"\b(?:no|non|não) (?:puedo|podemos|tengo|tenemos|dispongo|encuentro|encontré|sé|se (?:menciona|encuentra|"
    r"especifica|indica)|posso|so|ho|trovo|"
    r"è possibile|sei|tenho|encontrei|é possível)\b",
    r"\b(?:documentos?|textos?|fuentes?|contexto|información|documenti|testi|fonti|fontes|"
    r"informações)\b[^.!?]{0,40} (?:no|non|não) "
    r"(?:contienen?|mencionan?|incluyen?|especifican?|indican?|proporcionan?|dicen?|contengono|menzionano|"
    r"indicano|forniscono|contêm|contém|"
    r"mencionam?|incluem|indicam|fornecem?)\b",
    r"\bje (?:ne |n')\w+[^.!?]{0,40}\b(?:pas|aucune?|rien)\b|\b(?:documents?|textes?|sources?|"
    r"contexte)\b[^.!?]{0,40}\bn(?:e |')[^.!?]{0,30}"
    r"\b(?:pas|aucune?|rien)\b",
    # Chinese, Japanese
    r"(?:文件|文档|資料|资料|信息|上下文)[^。！？]{0,20}(?:没有|未|不包含|無|沒有)|无法(?:回答|确定|找到|提供)|我不知道|"
    r"わかりません|分かりません|見つかりません|記載されていません|回答できません",
)
_REFUSING = re.compile("|".join(_PATTERNS))
_APOLOGY = re.compile(
    r"^\W*(?:i am (?:very )?sorry|sorry|i apologi[sz]e|apologies|lo siento|leider|es tut mir leid|désolée?|"
    r"desculpe)\b[^.!?]{0,25}[.!?]?$"
)
_CONTRAST = re.compile(r"[,;–—-] ?(?:but|however|though|yet|aber|pero|mais)\b(?P<rest>.{12,})")
_CONCESSION = re.compile(r"^\W*(?:while|although|(?:even )?though) [^,]{4,160}, (?P<rest>.{12,})")
_DEFLECTING = re.compile(
    r"^\W*(?:it depends\b|(?:please )?(?:contact|consult|check with|speak (?:to|with)|ask|refer to|reach out)\b|"
    r"(?:you|i) (?:should|may want to|can|could|might|would|suggest|recommend)(?: (?:suggest|"
    r"recommend))?(?: you| that you)? "
    r"(?:contact|consult|check|speak|ask)(?:ing)?\b)"
)
# To say what the documents are about, instead, answers nothing.
_DOCUMENTS = r"(?:documents?|texts?|passages?|sources?|context|excerpts?|information)"
_OF_DOCUMENTS = re.compile(
    r"^\W*(?:however,? |but |instead,? )?(?:it|they|(?:the |these |this )?(?:provided |given |available )?"
    rf"{_DOCUMENTS}(?: provided| given| shown| available)?) (?:primarily|mainly|mostly|only|instead|largely) "
    r"(?:focus(?:es)?|discuss(?:es)?|deals? with|talks? about)\b"
)
_SMALL_TALK = re.compile(
    r"^\W*(?:hello|hi|hey|good (?:morning|afternoon|evening)|thanks?|you(?: are|'re) welcome|how (?:can|"
    r"may) i (?:help|assist)|"
    r"i hope (?:this|that|it) helps|(?:please )?let me know if|is there anything else|of course|goodbye|hallo|"
    r"hola|bonjour)\b[^.!?]{0,80}[.!?]?\W*$"
)


@lru_cache(maxsize=4096)
def is_refusal(sentence: str) -> bool:
    """Whether a sentence says that there is no answer; "I am not certain, but it is $500" gives one."""
    plain = _plain(sentence)
    match = _REFUSING.search(plain)
    if match is None:
        return _APOLOGY.search(plain) is not None
    others = [part for part in plain.split(";") if match[0] not in part]
    for pattern in (_CONTRAST.search(plain, match.end()), _CONCESSION.match(plain)):
        others += [pattern["rest"]] if pattern else []
    return not any(re.search(r"\d", other) and not _REFUSING.search(other) for other in others)


def is_deflection(sentence: str) -> bool:
    """Whether a sentence sends the user elsewhere instead of answering, or to what the documents are about."""
    plain = _plain(sentence)
    deflects = _DEFLECTING.search(plain) or _OF_DOCUMENTS.search(plain)
    return deflects is not None and not re.search(r"\d", sentence)


def is_small_talk(sentence: str) -> bool:
    """Whether a sentence is a courtesy that rests on no document."""
    return _SMALL_TALK.search(_plain(sentence)) is not None


def refuses(sentences: Sequence[str]) -> bool:
    """Whether an answer is a refusal: its first sentence is one, or more than half of its sentences are.

    An answer that only sends the user elsewhere, or only greets, gives nothing either.
    """
    claims = [sentence for sentence in sentences if not is_small_talk(sentence)]
    states = [is_refusal(sentence) for sentence in claims]
    if not claims or states[0] or 2 * sum(states) > len(states):
        return True
    return all(state or is_deflection(sentence) for sentence, state in zip(claims, states, strict=True))


def _plain(sentence: str) -> str:
    plain = sentence.lower()
    for pattern, spelling in _SPELLINGS:
        plain = pattern.sub(spelling, plain)
    return plain.strip()
