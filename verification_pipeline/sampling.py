"""What the checker reads, and with which probability it was chosen. Seed `verification-receipt`, sampling rules.

A pair is selected iff hash(seed, pair_id) is below the probability of its stratum, so an edit elsewhere never
reshuffles the rest. Strong pairs that did not pass are always selected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from verification_pipeline.config import Sampling
from verification_pipeline.keys import hash_of, unit_interval
from verification_pipeline.records import Pair


@dataclass(frozen=True, slots=True)
class BatchRow:
    """A row of `batches`."""

    pair_id: str
    document_key: str
    selected: bool
    stratum: str
    probability: float
    batch_id: str | None
    position: int | None


def probability_of(strong: bool, rules: Sampling) -> float:
    """Chance of a pair to be read: 1 for strong ones, by the sample setting for the rest."""
    if strong or rules.sample == "all":
        return 1.0
    return rules.rest_share if rules.sample == "strong-markers" else float(rules.sample)


def select(pairs: Iterable[Pair], rules: Sampling) -> list[BatchRow]:
    """Select among one document's pairs that need a checker, and batch the selected source by source."""
    chosen: list[Pair] = []
    rows: dict[str, BatchRow] = {}
    for pair in pairs:
        probability = probability_of(pair.strong, rules)
        selected = probability >= 1 or unit_interval(rules.seed, pair.pair_id) < probability
        stratum = "strong" if pair.strong else "rest"
        rows[pair.pair_id] = BatchRow(pair.pair_id, pair.document_key, selected, stratum, probability, None, None)
        if selected:
            chosen.append(pair)
    for pair_id, (batch_id, position) in _batched(chosen, rules.batch_size).items():
        row = rows[pair_id]
        rows[pair_id] = BatchRow(
            row.pair_id, row.document_key, row.selected, row.stratum, row.probability, batch_id, position
        )
    return list(rows.values())


def _batched(pairs: list[Pair], size: int) -> Mapping[str, tuple[str, int]]:
    """pair_id → (batch_id, position); pairs of one source stand together, a batch holds at most `size`."""
    ordered = sorted(pairs, key=lambda pair: (pair.source_key or "", pair.pair_index))
    places: dict[str, tuple[str, int]] = {}
    for start in range(0, len(ordered), size):
        batch = ordered[start : start + size]
        batch_id = hash_of("batch", *(pair.pair_id for pair in batch))
        places.update({pair.pair_id: (batch_id, position) for position, pair in enumerate(batch)})
    return places
