"""The extractor against the gold set of cited sentences (GOLD.md)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.gold_score import outcomes, report, score


@pytest.mark.acceptance
def test_citations_are_bound_to_the_sentences_and_sources_that_a_reader_sees(shared: Path) -> None:
    found = list(outcomes(shared / "corpora"))
    undisputed = score(outcome for outcome in found if not outcome.gold["disputed"])
    assert undisputed.f1 >= 0.98, "\n".join(report(found))
