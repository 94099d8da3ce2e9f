"""How many true claims are still called supported after one thing in them was made false.

    python -m tests.acceptance.minimal_edits [--limit N]

Claims that people labelled supported and that the checker accepts without its guards are edited by script, one thing
at a time, and judged again with the guards on. The words used for editing are this script's own: opposites are also
counted apart for pairs that the checker's table of opposites does not hold. Sets that the model was trained on and
sets that it never saw are shown apart.
"""

from __future__ import annotations

import argparse
import itertools
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.acceptance.embedded_table import FAMILIES, Labelled, items_of, labelled
from verification_pipeline.checkers.embedded import EmbeddedChecker
from verification_pipeline.checkers.embedded.lexicon import related, short
from verification_pipeline.checkers.protocol import Judgement
from verification_pipeline.checkers.retrieval import WordRetriever
from verification_pipeline.config import Embedded
from verification_pipeline.text.index import WordIndex

_OPPOSITES = """
good/bad large/small big/small high/low long/short early/late old/new young/old strong/weak fast/slow hot/cold
rich/poor easy/hard safe/dangerous public/private male/female men/women man/woman boys/girls north/south
northern/southern east/west eastern/western left/right first/last major/minor positive/negative active/passive
common/rare many/few most/least more/fewer better/worse best/worst higher/lower larger/smaller greater/lesser
longer/shorter older/younger earlier/later before/after above/below inside/outside always/never often/rarely
success/failure successful/unsuccessful effective/ineffective possible/impossible legal/illegal likely/unlikely
supports/opposes supported/opposed accept/reject accepted/rejected include/exclude includes/excludes
including/excluding open/closed opened/closed begin/end began/ended start/stop started/stopped win/lose won/lost
allow/prohibit allowed/prohibited allows/prohibits improve/worsen improved/worsened improves/worsens
benefit/harm benefits/harms beneficial/harmful healthy/unhealthy alive/dead true/false same/different
similar/different present/absent mild/severe acute/chronic sufficient/insufficient significant/insignificant
associated/unrelated related/unrelated known/unknown hired/fired bought/sold arrived/departed married/divorced
strengthen/weaken protects/endangers prevents/causes prevent/cause reduces/causes agreed/disagreed
"""
_DIRECTIONS = """
increase/decrease increases/decreases increased/decreased increasing/decreasing rise/fall rises/falls rose/fell
rising/falling grow/shrink grew/shrank growing/shrinking gain/loss gains/losses gained/lost up/down upward/downward
raised/lowered raise/lower raises/lowers reduce/raise reduced/raised reduces/raises reduction/increase
decline/growth declined/climbed declines/climbs expanded/contracted improved/deteriorated improvement/deterioration
accelerated/slowed higher/lower elevated/depressed enhanced/diminished enhance/diminish promotes/inhibits
upregulated/downregulated
"""
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_UNITS = """
million/billion billion/million thousand/million days/months months/days years/weeks weeks/years hours/minutes
minutes/hours miles/feet km/cm kilometers/centimeters meters/kilometers metres/kilometres feet/inches inches/feet
percent/permille kg/g mg/kg grams/kilograms dollars/cents pounds/pence year/week day/month month/day hour/minute
"""
_MODALS = re.compile(r"\b(is|are|was|were|has|have|had|can|could|will|would|should|may|might|must)\b(?!\s+not)")
_PAST = re.compile(r"(?<=[a-z] )([a-z]{3,}ed)\b(?! by\b)")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][\w’'-]+(?: [A-Z][\w’'-]+)*")
_NUMBER = re.compile(r"(?<![\w.,/-])\d+(?:[.,]\d+)*(?![\w/-]|[.,]\d)")
_YEAR = re.compile(r"\b(?:18|19|20)\d\d\b")
_COMPARED = re.compile(
    r"^(.{6,90}?) (than|causes?|caused|leads? to|led to|followed|replaced|defeated|beat) (.{4,90}?)([.;]|$)"
)


def _table(lines: str) -> dict[str, list[str]]:
    pairs = [pair.split("/") for pair in lines.split()]
    both = defaultdict(list)
    for a, b in pairs:
        both[a].append(b)
        both[b].append(a)
    return dict(both)


_OPPOSITE_OF, _DIRECTION_OF = _table(_OPPOSITES), _table(_DIRECTIONS)
_UNIT_OF = dict(pair.split("/") for pair in _UNITS.split())


def _once(
    claim: str, matches: list[re.Match[str]], by: Callable[[re.Match[str]], str], dice: random.Random
) -> str | None:
    if not matches:
        return None
    match = dice.choice(matches)
    return claim[: match.start()] + by(match) + claim[match.end() :]


def _negation(claim: str, _page: str, dice: random.Random) -> str | None:
    found = list(_MODALS.finditer(claim))
    if found:
        return _once(claim, found[:1], lambda m: f"{m.group()} not", dice)
    return _once(claim, list(_PAST.finditer(claim)), lambda m: f"never {m.group()}", dice)


def _substituted(table: dict[str, list[str]]) -> Callable[[str, str, random.Random], str | None]:
    def edit(claim: str, _page: str, dice: random.Random) -> str | None:
        found = [m for m in re.finditer(r"[A-Za-z]+", claim) if m.group() in table]
        return _once(claim, found, lambda m: dice.choice(table[m.group()]), dice)

    return edit


def _name(claim: str, page: str, dice: random.Random) -> str | None:
    def other(match: re.Match[str]) -> str:
        words = len(match.group().split())
        pool = sorted({n for n in _NAME.findall(page) if len(n.split()) == words and n not in claim})
        return dice.choice(pool) if pool else match.group()

    return _once(claim, list(_NAME.finditer(claim)), other, dice)


def _number(claim: str, page: str, dice: random.Random) -> str | None:
    def other(match: re.Match[str]) -> str:
        year = bool(_YEAR.fullmatch(match.group()))
        pool = sorted({n for n in _NUMBER.findall(page) if n not in claim and bool(_YEAR.fullmatch(n)) == year})
        return dice.choice(pool) if pool else match.group()

    return _once(claim, list(_NUMBER.finditer(claim)), other, dice)


def _fresh_number(claim: str, page: str, dice: random.Random) -> str | None:
    def other(match: re.Match[str]) -> str:
        for _ in range(50):
            digits = "".join(str(dice.randint(1, 9)) if c.isdigit() else c for c in match.group())
            if digits not in page and digits != match.group():
                return digits
        return match.group()

    return _once(claim, list(_NUMBER.finditer(claim)), other, dice)


def _date_or_unit(claim: str, _page: str, dice: random.Random) -> str | None:
    def other(match: re.Match[str]) -> str:
        word = match.group()
        if word in _UNIT_OF:
            return _UNIT_OF[word]
        if word in _MONTHS:
            return dice.choice([m for m in _MONTHS if m != word])
        return str(int(word) + dice.choice([-7, -4, -1, 1, 4, 7]))

    units = [m for m in re.finditer(r"(?<=\d )[a-z]+", claim) if m.group() in _UNIT_OF]
    months = [m for m in re.finditer(r"\b[A-Z][a-z]+\b", claim) if m.group() in _MONTHS]
    return _once(claim, [*units, *months, *_YEAR.finditer(claim)], other, dice)


def _roles(claim: str, _page: str, dice: random.Random) -> str | None:
    """Two names or figures change places, or the two sides of a comparison or a cause."""
    names = list(_NAME.finditer(claim))
    figures = list(_NUMBER.finditer(claim))
    for found in (names, figures):
        for a, b in itertools.pairwise(found):
            if a.group() != b.group() and claim[a.end() : b.start()].strip() not in (
                "and",
                ",",
                "or",
                "&",
                "/",
                ", and",
            ):
                return claim[: a.start()] + b.group() + claim[a.end() : b.start()] + a.group() + claim[b.end() :]
    match = _COMPARED.match(claim)
    if match and match[2] != "than":
        swapped = f"{match[3][:1].upper()}{match[3][1:]} {match[2]} {match[1][:1].lower()}{match[1][1:]}{match[4]}"
        return swapped + claim[match.end() :]
    return None


KINDS: dict[str, Callable[[str, str, random.Random], str | None]] = {
    "negation": _negation,
    "opposite": _substituted(_OPPOSITE_OF),
    "direction": _substituted(_DIRECTION_OF),
    "name of the page": _name,
    "number of the page": _number,
    "date or unit": _date_or_unit,
    "roles swapped": _roles,
    "new number": _fresh_number,
}


def unknown_opposite(before: str, after: str, checker: EmbeddedChecker) -> bool:
    """Whether the pair of words that differ is not in the checker's own table."""
    a, b = before.split(), after.split()
    changed = [(x, y) for x, y in zip(a, b, strict=False) if x != y]
    if len(changed) != 1:
        return False
    x, y = (WordIndex.build(word).words[:1] for word in changed[0])
    return not np.isin(short(y), related(checker.model.lexicon.opposites, x)[1]).any()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=int, default=10**6, help="Most claims a set.")
    options = parser.parse_args()
    shared = Path(__file__).resolve().parents[3] / "shared" / "benchmarks"
    bare = EmbeddedChecker(Embedded(guards=False, min_confidence=0.0))
    guarded = EmbeddedChecker(Embedded(min_confidence=0.0))
    full = EmbeddedChecker(Embedded())
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for name, trained in FAMILIES.items():
        rows = [row for row in labelled(shared, name) if row.label == "S"][: options.limit]
        accepted = [row for row, ok in zip(rows, _supported(bare, rows), strict=True) if ok]
        side = "trained on" if trained else "never seen"
        edited = [("unedited", row, row) for row in accepted]
        for row in accepted:
            for kind, make in KINDS.items():
                claim = make(row.claim, row.source, random.Random(f"{kind}-{row.id}"))
                if claim and claim != row.claim:
                    edited.append((kind, row, row.with_claim(claim)))
        new = [row for _, _, row in edited]
        answers = [_supported(checker, new) for checker in (bare, guarded, full)]
        for (kind, old, row), *kept in zip(edited, *answers, strict=True):
            kinds = [kind]
            if kind in ("opposite", "direction") and unknown_opposite(old.claim, row.claim, bare):
                kinds.append(f"{kind}, pair not in the table")
            for each in kinds:
                for where in (side, "all"):
                    counts[each, where].update(n=1, bare=kept[0], guarded=kept[1], full=kept[2])
    print(f"{'edit':34}{'claims':12}{'n':>6}{'no guards':>11}{'guards':>9}{'default':>9}")
    for (kind, where), found in sorted(counts.items(), key=lambda entry: (entry[0][1], entry[0][0])):
        shares = "".join(
            f"{found[name] / found['n']:>{width}.3f}" for name, width in (("bare", 11), ("guarded", 9), ("full", 9))
        )
        print(f"{kind:34}{where:12}{found['n']:>6}{shares}")


def _supported(checker: EmbeddedChecker, rows: list[Labelled]) -> list[bool]:
    outcomes = checker.check(items_of(rows), WordRetriever())
    return [isinstance(outcome, Judgement) and outcome.verdict == "supported" for outcome in outcomes]


if __name__ == "__main__":
    main()
