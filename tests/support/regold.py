"""Writes the golden files of receipts and queries anew: `python -m tests.support.regold`. Read the difference."""

from __future__ import annotations

import tempfile
from pathlib import Path

import duckdb
import orjson

from tests.support.archive import run_info, storage_archive
from tests.support.questions import PARAMETERS, answer, nights_archive
from verification_pipeline import duckdb_file, queries, tables
from verification_pipeline.config import Settings
from verification_pipeline.receipts import assemble

TESTS = Path(__file__).resolve().parent.parent


def main() -> None:
    """Write every golden file."""
    rows = assemble(storage_archive().inputs(), run_info(), Settings(), tables.empty("receipts"))
    (TESTS / "receipts" / "golden").mkdir(exist_ok=True)
    for text in rows["receipt"]:
        receipt = orjson.loads(text)
        name = "".join(c if c.isalnum() else "_" for c in receipt["document_id"])
        body = orjson.dumps(receipt, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)
        (TESTS / "receipts" / "golden" / f"{name}.json").write_bytes(body)
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "verification.duckdb"
        duckdb_file.build(nights_archive().write(Path(folder) / "tables"), target)
        with duckdb.connect(str(target), read_only=True) as connection:
            for name in queries.names():
                path = TESTS / "golden" / f"{name}.json"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(answer(connection, name, PARAMETERS.get(name, {})), "utf-8")


if __name__ == "__main__":
    main()
