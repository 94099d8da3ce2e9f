from __future__ import annotations

from tests.support.archive import run_info, storage_archive
from verification_pipeline import tables
from verification_pipeline.config import Settings
from verification_pipeline.receipts import assemble
from verification_pipeline.receipts.models import Receipt


def test_smoke():
    a = storage_archive()
    rows = assemble(a.inputs(), run_info(), Settings(), tables.empty("receipts"))
    tables.check("receipts", rows, "x")
    for row in rows["receipt"]:
        Receipt.model_validate_json(row)
