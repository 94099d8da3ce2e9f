"""False and harmless edits of true sentences, for training. Seeded; what an acceptance test edits, it edits by itself.

A false edit changes one thing that a reader would object to; a harmless one says the same in other words. Which words
of a sentence can be edited is read off the sentence, other names and numbers off its page, opposites off WordNet.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass

from training.wordnet import WordNet

_AUXILIARY = re.compile(
    r"\b(is|are|was|were|has|have|had|can|could|will|would|should|may|might|must|does|did|do)\b(?! not\b|n't)"
)
_NEGATION = re.compile(r"\b(?:not |never |no longer )|n't\b|\bwithout\b|\bno (?=[a-z])")
_WORD = re.compile(r"\b[A-Za-z]+\b")
_NAME = re.compile(r"(?<=[a-z,;(] )(?:[A-Z][\w'’-]+)(?: (?:[A-Z][\w'’-]+|of(?= [A-Z])))*")
_NUMBER = re.compile(r"(?<![\w.,-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w,]|\.\d|-\w)")
_MONTH = re.compile(
    r"\b(January|February|March|April|May|June|July|August|September|October|November|December)\b(?! be)"
)
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_UNITS = (
    ("million", "billion", "thousand"),
    ("hours", "days", "weeks", "months", "years", "minutes"),
    ("hour", "day", "week", "month", "year", "minute"),
    ("km", "miles", "metres", "meters", "feet", "kilometers"),
    ("mg", "g", "kg", "µg"),
    ("percent", "percentage points"),
    ("dollars", "euros", "pounds"),
    ("tonnes", "kilograms", "pounds"),
)
_QUALIFIERS = (
    r"\b(?:only|mostly|mainly|partly|partially|nearly|almost|about|approximately|around|roughly|sometimes|usually"
    r"|generally|often|possibly|probably|likely|potentially|reportedly|allegedly|up to|at least|more than|less than"
    r"|fewer than|some|certain|several|many|most) "
)
_STRONGER = (
    (r"\b(?:may|might|could)\b(?! be\b)", ("will", "always")),
    (r"\b(?:some|many|most|several|certain)\b", ("all", "no")),
    (r"\b(?:often|sometimes|usually|generally)\b", ("always", "never", "rarely")),
    (r"\b(?:suggests?|indicates?)\b", ("proves",)),
    (r"\b(?:one of the)\b", ("the only one of the",)),
    (r"\bassociated with\b", ("caused by", "unrelated to")),
    (r"\b(?:before)\b", ("after",)),
    (r"\b(?:after)\b", ("before",)),
    (r"\b(?:more|greater|higher|larger)\b", ("less", "lower", "smaller")),
    (r"\b(?:less|lower|smaller|fewer)\b", ("more", "higher", "greater")),
)


@dataclass(frozen=True, slots=True)
class Edit:
    """An edited sentence. `label` as in `data.Row`: S harmless, C contradicted, X not supported, one way or other."""

    kind: str
    text: str
    label: str


def false_edits(sentence: str, page: str, words: WordNet, dice: random.Random) -> list[Edit]:
    """At most one false edit a kind."""
    makers: tuple[tuple[str, str, Callable[[], str | None]], ...] = (
        ("negation", "C", lambda: _negated(sentence, words, dice)),
        ("antonym", "C", lambda: _opposite(sentence, words, dice)),
        ("name", "C", lambda: _other(sentence, page, _NAME, dice)),
        ("number", "C", lambda: _other(sentence, page, _NUMBER, dice)),
        ("new-number", "C", lambda: _new_number(sentence, dice)),
        ("unit", "C", lambda: _unit(sentence, dice)),
        ("date", "C", lambda: _date(sentence, dice)),
        ("direction", "C", lambda: _replaced(sentence, _STRONGER[-4:], dice)),
        ("qualifier", "X", lambda: _replaced(sentence, _STRONGER[:-4], dice)),
        ("dropped", "X", lambda: _sub_once(re.compile(_QUALIFIERS), sentence, "", dice)),
        ("swapped", "C", lambda: _swapped(sentence, dice)),
        ("word", "X", lambda: _other_word(sentence, page, words, dice)),
    )
    return [Edit(kind, text, label) for kind, label, make in makers if (text := make()) and text != sentence]


def harmless_edits(sentence: str, words: WordNet, dice: random.Random) -> list[Edit]:
    """The same in other words: a synonym, a dropped aside, a dropped clause, a frame, figures written otherwise."""
    makers: tuple[tuple[str, Callable[[], str | None]], ...] = (
        ("synonym", lambda: _synonym(sentence, words, dice)),
        ("aside", lambda: _sub_once(re.compile(r"\s?\([^()]{2,60}\)"), sentence, "", dice)),
        ("clause", lambda: _without_clause(sentence)),
        ("frame", lambda: _framed(sentence, dice)),
        ("figures", lambda: _figures(sentence)),
    )
    return [Edit(kind, text, "S") for kind, make in makers if (text := make()) and text != sentence]


def _sub_once(pattern: re.Pattern[str], sentence: str, by: str, dice: random.Random) -> str | None:
    found = list(pattern.finditer(sentence))
    if not found:
        return None
    match = dice.choice(found)
    return _capital(sentence[: match.start()] + by + sentence[match.end() :], sentence)


def _capital(text: str, like: str) -> str:
    text = re.sub(r"\s{2,}", " ", text).strip()
    return text[:1].upper() + text[1:] if like[:1].isupper() else text


def _negated(sentence: str, words: WordNet, dice: random.Random) -> str | None:
    if _NEGATION.search(sentence) and dice.random() < 0.7:
        return _sub_once(_NEGATION, sentence, "", dice)
    found = list(_AUXILIARY.finditer(sentence))
    if found:
        match = dice.choice(found)
        word = dice.choice([" not", " not", " not", " never", " no longer"])
        return sentence[: match.end()] + word + sentence[match.end() :]
    verbs = [m for m in _WORD.finditer(sentence) if m.group().endswith("ed") and m.group() in words.verbs]
    if not verbs:
        return None
    match = dice.choice(verbs)
    by = dice.choice(["did not", "didn't", "failed to", "never did"])
    lemma = words.verbs[match.group()]
    return sentence[: match.start()] + f"{by} {lemma}" + sentence[match.end() :]


def _opposite(sentence: str, words: WordNet, dice: random.Random) -> str | None:
    found = [m for m in _WORD.finditer(sentence) if len(m.group()) > 3 and m.group() in words.antonyms]
    if not found:
        return None
    match = dice.choice(found)
    return sentence[: match.start()] + dice.choice(words.antonyms[match.group()]) + sentence[match.end() :]


def _synonym(sentence: str, words: WordNet, dice: random.Random) -> str | None:
    found = [m for m in _WORD.finditer(sentence) if len(m.group()) > 4 and m.group() in words.synonyms]
    if not found:
        return None
    for match in sorted(dice.sample(found, min(2, len(found))), key=lambda m: -m.start()):
        sentence = sentence[: match.start()] + dice.choice(words.synonyms[match.group()]) + sentence[match.end() :]
    return sentence


def _other(sentence: str, page: str, pattern: re.Pattern[str], dice: random.Random) -> str | None:
    mine = list(pattern.finditer(sentence))
    if not mine:
        return None
    match = dice.choice(mine)
    like = _shape(match.group())
    others = sorted({m for m in pattern.findall(page[:60_000]) if _shape(m) == like and m not in sentence})
    return sentence[: match.start()] + dice.choice(others) + sentence[match.end() :] if others else None


def _shape(text: str) -> tuple[int, bool, bool]:
    digits = sum(map(str.isdigit, text))
    return digits if digits else len(text.split()), "." in text, bool(re.fullmatch(r"(?:19|20)\d\d", text))


def _new_number(sentence: str, dice: random.Random) -> str | None:
    found = list(_NUMBER.finditer(sentence))
    if not found:
        return None
    match = dice.choice(found)
    old = match.group()
    digits = [k for k, c in enumerate(old) if c.isdigit()]
    new = list(old)
    for k in dice.sample(digits, dice.randint(1, min(2, len(digits)))):
        new[k] = dice.choice([c for c in "123456789" if c != old[k]])
    return sentence[: match.start()] + "".join(new) + sentence[match.end() :]


def _unit(sentence: str, dice: random.Random) -> str | None:
    found = [(m, group) for group in _UNITS for unit in group for m in re.finditer(rf"(?<=\d )\b{unit}\b", sentence)]
    if not found:
        return None
    match, group = dice.choice(found)
    by = dice.choice([unit for unit in group if unit != match.group()])
    return sentence[: match.start()] + by + sentence[match.end() :]


def _date(sentence: str, dice: random.Random) -> str | None:
    found = list(_MONTH.finditer(sentence)) + [m for day in _DAYS for m in re.finditer(day, sentence)]
    years = list(re.finditer(r"(?<![\w.,-])(?:1[5-9]|20)\d\d(?![\w%])", sentence))
    if not found and not years:
        return None
    match = dice.choice(found + years)
    old = match.group()
    if old.isdigit():
        by = str(int(old) + dice.choice([-10, -3, -2, -1, 1, 2, 3, 5, 10]))
    else:
        by = dice.choice([word for word in (_MONTHS if old in _MONTHS else _DAYS) if word != old])
    return sentence[: match.start()] + by + sentence[match.end() :]


def _replaced(sentence: str, rules: tuple[tuple[str, tuple[str, ...]], ...], dice: random.Random) -> str | None:
    found = [(m, by) for pattern, by in rules for m in re.finditer(pattern, sentence)]
    if not found:
        return None
    match, by = dice.choice(found)
    return sentence[: match.start()] + dice.choice(by) + sentence[match.end() :]


def _swapped(sentence: str, dice: random.Random) -> str | None:
    """Two names, two numbers, or the sides of a comparison change places."""
    for pattern in dice.sample([_NAME, _NUMBER], 2):
        found = list(pattern.finditer(sentence))
        pairs = [(a, b) for k, a in enumerate(found) for b in found[k + 1 :] if a.group() != b.group()]
        if pairs:
            a, b = dice.choice(pairs)
            between = sentence[a.end() : b.start()]
            if between.strip() in ("and", ",", "or", ", and", "&"):
                continue
            return sentence[: a.start()] + b.group() + between + a.group() + sentence[b.end() :]
    match = re.fullmatch(
        r"(.{8,80}?) (is|are|was|were|causes?|caused|leads? to|affects?|increases?|reduces?) (.{8,80}?)([.]?)", sentence
    )
    if match and match[2] not in ("is", "are", "was", "were"):
        return _capital(f"{match[3]} {match[2]} {match[1][:1].lower()}{match[1][1:]}{match[4]}", sentence)
    return None


def _other_word(sentence: str, page: str, words: WordNet, dice: random.Random) -> str | None:
    """A content word gives way to another word of the page with the same ending."""
    found = [m for m in _WORD.finditer(sentence) if len(m.group()) > 5 and m.group().islower()]
    if not found:
        return None
    match = dice.choice(found)
    old = match.group()
    known = set(words.synonyms.get(old, ())) | {old}
    pool = sorted(
        {
            w
            for w in _WORD.findall(page[:20_000])
            if len(w) > 5 and w.islower() and w[-2:] == old[-2:] and w[:5] != old[:5] and w not in known
        }
    )
    pool = [w for w in pool if w not in sentence]
    return sentence[: match.start()] + dice.choice(pool) + sentence[match.end() :] if pool else None


def _without_clause(sentence: str) -> str | None:
    parts = re.split(r", (?=and |which |who |but |while |including |such )|; ", sentence)
    if len(parts) < 2 or len(parts[0].split()) < 6:
        return None
    return parts[0].rstrip(" ,.") + "."


def _framed(sentence: str, dice: random.Random) -> str | None:
    first = sentence.split(" ", 1)[0]
    if first not in ("The", "This", "These", "In", "It", "A", "An", "There", "They", "He", "She", "Its", "Our", "We"):
        return None
    frame = dice.choice(
        ["According to the report, ", "It was reported that ", "As stated there, ", "The text notes that "]
    )
    return frame + sentence[:1].lower() + sentence[1:]


def _figures(sentence: str) -> str | None:
    text = (
        re.sub(r"(\d)%", r"\1 percent", sentence) if "%" in sentence else re.sub(r"(\d) per ?cent\b", r"\1%", sentence)
    )
    return re.sub(r"(?<=\d),(?=\d{3})", "", text)
