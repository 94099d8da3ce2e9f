"""Asking by files: requests out in the form that `vllm run-batch` takes, its answers read from OUT/llm/answers.

    vllm run-batch -i OUT/llm/requests/offline-….jsonl -o OUT/llm/answers/anything.jsonl --model …

A question stays pending while its file of requests lies there; who removes the file takes the question back.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from verification_pipeline.checkers.llm.batch import Tally, alone, bring_in, enter
from verification_pipeline.checkers.llm.ledger import Ledger
from verification_pipeline.checkers.llm.online import Job, Left
from verification_pipeline.checkers.llm.questions import Question
from verification_pipeline.config import OpenAI

_OWN = ("online-", "batch-", ".")
"""Names of files in the answers' folder that this package wrote itself."""


def export(questions: Sequence[Question], job: Job) -> dict[str, Left]:
    """Write request files for these questions; every question is left pending."""
    with alone(job.ledger):
        return enter("offline", questions, job)


def collect(ledger: Ledger, rules: OpenAI) -> Tally:
    """Read every file of answers that is new or has grown; take back the questions of request files that are gone."""
    if not _open_files(ledger):
        return Tally()
    with alone(ledger):
        tally = Tally()
        for path in sorted((ledger.folder / "answers").glob("*.jsonl")):
            stamp = f"{path.stat().st_size}-{path.stat().st_mtime_ns}"
            if not path.name.startswith(_OWN) and not ledger.imported(path.name, stamp):
                tally += bring_in(ledger, rules, "offline-file", path.read_bytes(), None)
                ledger.mark_imported(path.name, stamp)
        for batch, file in _open_files(ledger):
            if not ledger.open_requests(batch):
                ledger.update_batch(batch, state="collected")
            elif not (ledger.folder / "requests" / file).exists():
                ledger.release_batch(batch, "withdrawn", "its file of requests was removed", time.time())
                ledger.update_batch(batch, state="failed", note="withdrawn")
        return tally


def _open_files(ledger: Ledger) -> list[tuple[int, str]]:
    """Files of requests that are out: batch id and name."""
    found = ledger.read("SELECT id, file FROM batches WHERE kind = 'offline' AND state = 'intent' ORDER BY id")
    return [(batch, file) for batch, file in found]
