from __future__ import annotations

from types import SimpleNamespace

import pytest

from verification_pipeline import tables
from verification_pipeline.store import Store
from verification_pipeline.sums import broken_sums

ROWS = {
    "markers": [
        {"marker_index": 0, "pair_id": "passed", "status": "bound"},
        {"marker_index": 1, "pair_id": "read", "status": "bound"},
        {"marker_index": 2, "pair_id": "skipped", "status": "bound"},
        {"marker_index": 3, "pair_id": "lost", "status": "dangling"},
        {"marker_index": 4, "pair_id": "empty", "status": "bound"},
        {"marker_index": 5, "pair_id": None, "status": "not-a-citation"},
    ],
    "pairs": [{"pair_id": name} for name in ("passed", "read", "skipped", "lost", "empty")],
    "triage": [
        {"pair_id": "passed", "outcome": "auto-passed"},
        {"pair_id": "read", "outcome": "needs-checker"},
        {"pair_id": "skipped", "outcome": "needs-checker"},
        {"pair_id": "lost", "outcome": "dangling"},
        {"pair_id": "empty", "outcome": "uncheckable"},
    ],
    "batches": [{"pair_id": "read", "selected": True}, {"pair_id": "skipped", "selected": False}],
    "verdicts": [
        {"pair_id": "read", "checked": True},
        {"pair_id": "skipped", "checked": False},
        {"pair_id": "empty", "checked": False},
    ],
    "census": [{"marker_like": 5, "marker_rows": 6}],
}
DEFAULTS = {
    tables.INTEGER: 0,
    tables.FLAG: False,
    tables.REAL: 1.0,
    tables.TEXT: "x",
    tables.TEXTS: (),
    tables.SPANS: (),
}


def row(name, fields):
    filled = {c.name: None if c.nullable else DEFAULTS[c.dtype] for c in tables.TABLES[name].columns}
    return SimpleNamespace(**{**filled, "document_key": "d", "span": None, **fields})


@pytest.fixture
def store(tmp_path):
    return Store.open(tmp_path / "out", shards=1)


def fill(store, rows):
    for name, fields in rows.items():
        store.write(name, tables.frame(name, [row(name, one) for one in fields]), 0)


def test_the_sums_of_a_sound_store_hold(store):
    fill(store, ROWS)
    assert broken_sums(store) == []


@pytest.mark.parametrize(
    ("name", "rows", "broken"),
    [
        ("markers", ROWS["markers"][1:], "pair without a marker"),
        (
            "markers",
            [*ROWS["markers"][:5], {"marker_index": 5, "pair_id": "read", "status": "not-a-citation"}],
            "cites",
        ),
        ("pairs", ROWS["pairs"][1:], "marker without a pair"),
        ("triage", ROWS["triage"][1:], "pair without a triage outcome"),
        ("triage", [*ROWS["triage"], {"pair_id": "ghost", "outcome": "dangling"}], "triage outcome without a pair"),
        ("batches", ROWS["batches"][1:], "in no stratum"),
        ("batches", [*ROWS["batches"], {"pair_id": "passed", "selected": True}], "needs no checker"),
        ("verdicts", ROWS["verdicts"][1:], "pair without a verdict row"),
        ("verdicts", [*ROWS["verdicts"], {"pair_id": "passed", "checked": True}], "settled before"),
        (
            "verdicts",
            [ROWS["verdicts"][0], {"pair_id": "skipped", "checked": True}, ROWS["verdicts"][2]],
            "outside the sample",
        ),
        ("census", [{"marker_like": 7, "marker_rows": 6}], "more marker-like tokens than markers"),
    ],
)
def test_a_sum_broken_on_purpose_is_named_with_its_document(store, name, rows, broken):
    fill(store, {**ROWS, name: rows})
    lines = broken_sums(store)
    assert any(broken in line and "documents d" in line for line in lines), lines
