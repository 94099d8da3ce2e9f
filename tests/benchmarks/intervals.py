"""Do the intervals hold? `python -m tests.benchmarks.intervals [DRAWS]`: samplings of one corpus whose truth is known.

The corpus is fixed; only the seed of the sample changes. An interval covers when the share that reading everything
would give lies inside. Selection and metrics are the pipeline's own.
"""

from __future__ import annotations

import sys
from collections import Counter

import polars as pl

from verification_pipeline import metrics
from verification_pipeline.keys import hash_of, unit_interval
from verification_pipeline.metrics import TALLY_SCHEMA, VERDICTS

STRATA = {"strong": (250, 1.0), "rest": (1_200, 0.25)}
"""Stratum → pairs, and the probability with which each is read."""
AUTO_PASSED = 400
SHARES = {"supported": 0.82, "partially-supported": 0.09, "unsupported": 0.06, "wrong-source": 0.03}


def truth() -> dict[str, list[tuple[str, str]]]:
    """Stratum → (pair, verdict), with exactly the shares above in each stratum of pairs to read."""
    found = {}
    for stratum, (size, _) in STRATA.items():
        ends = [round(size * sum(list(SHARES.values())[: n + 1])) for n in range(len(SHARES))]
        verdicts = [next(v for v, end in zip(SHARES, ends, strict=True) if n < end) for n in range(size)]
        found[stratum] = [(hash_of("pair", stratum, str(n)), verdict) for n, verdict in enumerate(verdicts)]
    return found


def drawn(pairs: dict[str, list[tuple[str, str]]], seed: int) -> pl.DataFrame:
    """The tally of one sampling."""
    rows = [("c", "pairs", "auto-passed", None, None, AUTO_PASSED)]
    for stratum, mine in pairs.items():
        probability = STRATA[stratum][1]
        counts = Counter(
            verdict if unit_interval(seed, pair) < probability else "unread:not-selected" for pair, verdict in mine
        )
        rows += [("c", "pairs", stratum, probability, value, n) for value, n in sorted(counts.items())]
    return pl.DataFrame(rows, schema=TALLY_SCHEMA, orient="row")


def coverage(draws: int, first_seed: int = 0) -> dict[str, float]:
    """Verdict → share of samplings whose interval covers the true share."""
    pairs = truth()
    true = Counter(verdict for mine in pairs.values() for _, verdict in mine)
    true["supported"] += AUTO_PASSED
    whole = true.total()
    covered: Counter[str] = Counter()
    for seed in range(first_seed, first_seed + draws):
        figures = metrics.compute("r", drawn(pairs, seed)).filter(corpus=metrics.WHOLE)
        bounds = {name: (low, high) for name, low, high in figures.select("metric", "low", "high").iter_rows()}
        for verdict in VERDICTS:
            low, high = bounds[f"{verdict.replace('-', '_')}_share"]
            covered[verdict] += low <= true[verdict] / whole <= high
    return {verdict: covered[verdict] / draws for verdict in VERDICTS}


if __name__ == "__main__":
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    for verdict, share in coverage(draws).items():
        print(f"{verdict:<20} {100 * share:.1f} % of {draws} intervals cover the truth")
