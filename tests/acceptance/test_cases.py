"""Every public failure case through the whole command: what the pipeline itself decides must be right.

Verdicts of the embedded checker are measured, not asserted: `cases.py` prints them, with a line a case.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.cases import Result, run_cases

JUDGED_BY_THE_CHECKER = ("not supported", "not unsupported", "not partially-supported", "cell ", "must not be")


@pytest.fixture(scope="module")
def results(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    path = shared / "cases" / "cases.jsonl"
    return {result.id: result for result in run_cases(path, tmp_path_factory.mktemp("cases"), "embedded")}


@pytest.mark.acceptance
def test_what_the_pipeline_decides_is_right_in_every_case(results: dict[str, Result]) -> None:
    wrong = {
        result.id: faults
        for result in results.values()
        if (faults := [fault for fault in result.faults if not any(word in fault for word in JUDGED_BY_THE_CHECKER)])
    }
    assert wrong == {}


@pytest.mark.acceptance
def test_every_case_is_accounted_for(results: dict[str, Result], shared: Path) -> None:
    lines = (shared / "cases" / "cases.jsonl").read_text("utf-8").splitlines()
    assert len(results) == len(lines)
    assert {result.category for result in results.values() if result.not_run} == {"LLM I/O"}
