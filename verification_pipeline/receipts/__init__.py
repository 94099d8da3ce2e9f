"""Receipts: what was checked on one document, assembled from the tables, judged by the ship gate, verifiable alone.

`models` is the schema; `assembly` makes receipts of `inputs` by way of `rows`, `content`, `facts`, `gate` (with
`waivers`) and `digest`; `verify` re-checks a receipt against the stored texts, `findings` lists what to repair,
`changes` compares nights; `page` and `terminal` are for people. `scaffold` and `code` find what a text alone shows.
Nothing here reads or writes files.
"""

from __future__ import annotations

from verification_pipeline.receipts.assembly import ReceiptInputs, RunInfo, assemble, merge
from verification_pipeline.receipts.findings import findings
from verification_pipeline.receipts.verify import verify_receipt

__all__ = ["ReceiptInputs", "RunInfo", "assemble", "findings", "merge", "verify_receipt"]
