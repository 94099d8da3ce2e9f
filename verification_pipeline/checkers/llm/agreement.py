"""Does a model judge a pair among 24 others as it judges it alone? Asked of your model, on your pairs.

    python -m verification_pipeline.checkers.llm.agreement --out OUT --config settings.toml [--pairs 250] [--seed 0]

Takes pairs of whole sources from the selection of a store, asks them three times (in requests as the settings have
them, alone, and alone again) and compares the words of the verdicts. The third round is the measure of the second: a
model that contradicts itself when it is asked twice will also contradict its batches. Answers go to ledgers of their
own beside the store's, so that a second call costs nothing and no verdict of a night changes.

Agreement and flips carry Wilson's 95 % intervals, kappa (Cohen 1960) its large-sample one. They take pairs for
independent draws; pairs of one source are not quite that.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from verification_pipeline.checkers.llm import money
from verification_pipeline.checkers.llm.checker import LLMChecker
from verification_pipeline.checkers.llm.ledger import Ledger
from verification_pipeline.checkers.protocol import Item, Judgement, NotChecked, Outcome
from verification_pipeline.checkers.retrieval import WordRetriever
from verification_pipeline.keys import hash_of
from verification_pipeline.metrics import wilson

_Z = 1.96

Share = tuple[float, float, float]
"""A share with the ends of its 95 % interval."""


@dataclass(frozen=True, slots=True)
class Flips:
    """Of the pairs that got one verdict the first way: how many got another one the second way, and which."""

    pairs: int
    flipped: int
    share: Share
    into: dict[str, int]


@dataclass(frozen=True, slots=True)
class Agreement:
    """How two ways of asking the same pairs agree, over the pairs that got a verdict both ways."""

    pairs: int
    judged_both: int
    agreed: int
    share: Share | None
    kappa: Share | None
    """None where only one verdict was ever given."""
    flips: dict[str, Flips]
    not_judged: dict[str, tuple[int, int]]
    """By reason: pairs the first way, pairs the second way."""


def compare(first: Sequence[Outcome], second: Sequence[Outcome]) -> Agreement:
    """Compare the outcomes of the same items, in the same order."""
    words = [(_word(one), _word(other)) for one, other in zip(first, second, strict=True)]
    both = [(one, other) for one, other in words if one and other]
    agreed = sum(one == other for one, other in both)
    reasons = [Counter(one.reason for one in arm if isinstance(one, NotChecked)) for arm in (first, second)]
    return Agreement(
        len(words),
        len(both),
        agreed,
        _share(agreed, len(both)) if both else None,
        _kappa(both),
        {verdict: _flips(verdict, both) for verdict in sorted({one for one, _ in both})},
        {reason: (reasons[0][reason], reasons[1][reason]) for reason in sorted(reasons[0] | reasons[1])},
    )


def ask(items: Sequence[Item], checker: LLMChecker) -> dict[str, Agreement]:
    """Ask the items in batches, alone and alone again; how the rounds agree."""
    together, alone, again = (round_.check(items, WordRetriever()) for round_ in rounds(checker))
    return {"alone, then in batches": compare(alone, together), "alone, then alone again": compare(alone, again)}


def rounds(checker: LLMChecker) -> tuple[LLMChecker, LLMChecker, LLMChecker]:
    """The same checker asking in batches, alone and alone again, each with a ledger of its own."""
    rules = checker.rules.model_copy(update={"mode": "online"})
    single = rules.model_copy(update={"pairs_per_request": 1})
    ways = (("batches", rules), ("alone", single), ("again", single))
    together, alone, again = (replace(checker, rules=way, folder=checker.folder / name) for name, way in ways)
    return together, alone, again


def drawn(items: Iterable[Item], pairs: int, seed: int) -> list[Item]:
    """All pairs of sources drawn by hash, until there are at least so many: requests stay as full as they are."""
    by_source: dict[str, list[Item]] = {}
    for item in items:
        by_source.setdefault(item.evidence.source.source_key, []).append(item)
    chosen: list[Item] = []
    for key in sorted(by_source, key=lambda key: hash_of("agreement", str(seed), key)):
        if len(chosen) >= pairs:
            break
        chosen += by_source[key]
    return chosen


def _word(outcome: Outcome) -> str | None:
    if not isinstance(outcome, Judgement):
        return None
    return "contradicted" if outcome.contradicted else outcome.verdict


def _share(hits: int, of: int) -> Share:
    return (hits / of, *wilson(hits / of, of, _Z))


def _flips(verdict: str, both: Sequence[tuple[str, str]]) -> Flips:
    others = Counter(other for one, other in both if one == verdict)
    flipped = others.total() - others[verdict]
    into = {other: count for other, count in sorted(others.items()) if other != verdict}
    return Flips(others.total(), flipped, _share(flipped, others.total()), into)


def _kappa(both: Sequence[tuple[str, str]]) -> Share | None:
    """Cohen's kappa, agreement beyond that of chance, with its large-sample 95 % interval."""
    if not both:
        return None
    n = len(both)
    rows, columns = Counter(one for one, _ in both), Counter(other for _, other in both)
    chance = sum(rows[word] * columns[word] for word in rows) / n**2
    if chance == 1:
        return None
    seen = sum(one == other for one, other in both) / n
    kappa, half = (seen - chance) / (1 - chance), _Z * math.sqrt(seen * (1 - seen) / n) / (1 - chance)
    return kappa, max(-1.0, kappa - half), min(1.0, kappa + half)


def _told(name: str, found: Agreement) -> str:
    def shown(share: Share | None) -> str:
        return "–" if share is None else "{:.3f} [{:.3f}, {:.3f}]".format(*share)

    lines = [
        f"{name}: {found.pairs} pairs, {found.judged_both} judged both ways",
        f"  agreement {shown(found.share)}, kappa {shown(found.kappa)}",
        *(
            f"  {verdict:<20} {one.pairs:>5} pairs, {one.flipped} flipped {shown(one.share)}"
            + "".join(f", {count} into {other}" for other, count in one.into.items())
            for verdict, one in found.flips.items()
        ),
        *(f"  not judged: {reason}, {one} and {other}" for reason, (one, other) in found.not_judged.items()),
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Ask and print."""
    from verification_pipeline import config
    from verification_pipeline.stages.grading import selected_items
    from verification_pipeline.store import Store

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="store that holds a selection (a run, or an estimate)")
    parser.add_argument("--config", type=Path, help="settings, TOML")
    parser.add_argument("--pairs", type=int, default=250)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--estimate", action="store_true", help="say what it would cost, and send nothing")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    store = Store.open(options.out, create=False)
    settings = config.load(config.read_toml(options.config) if options.config else {})
    checker = LLMChecker(settings.checker.openai, store.secret, store.root / "llm" / "agreement")
    items = drawn((item for shard in range(store.shards) for item in selected_items(store, shard)),
                  options.pairs, options.seed)  # fmt: skip
    if options.estimate:
        costs = [one.estimate(items, WordRetriever()) for one in rounds(checker)]
        print(json.dumps(asdict(costs[0] + costs[1] + costs[2])))
        return
    found = ask(items, checker)
    spent = [one for round_ in rounds(checker) for one in _spent(round_)]
    if options.json:
        made = {name: asdict(one) for name, one in found.items()}
        print(json.dumps({"agreement": made, "spending": [asdict(one) for one in spent]}, indent=1))
        return
    for name, one in found.items():
        print(_told(name, one))
    print(f"paid {sum(one.cents for one in spent):.2f} cents for {sum(one.requests for one in spent)} requests")


def _spent(checker: LLMChecker) -> list[money.Spent]:
    with Ledger(checker.folder) as ledger:
        return money.spending(ledger, checker.run.id)


if __name__ == "__main__":
    main()
