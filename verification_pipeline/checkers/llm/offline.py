"""Asking by files: requests out in the form that `vllm run-batch` takes, its answers read from OUT/llm/answers.

    vllm run-batch -i OUT/llm/requests/offline-….jsonl -o OUT/llm/answers/anything.jsonl --model …

A question stays pending while its file of requests lies there; who removes the file takes the question back.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from hashlib import sha256

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
    with alone(ledger):
        return _collect(ledger, rules)


def _collect(ledger: Ledger, rules: OpenAI) -> Tally:
    tally = Tally()
    for path in sorted((ledger.folder / "answers").glob("*.jsonl")):
        if path.name.startswith(_OWN):
            continue
        raw = path.read_bytes()
        digest = sha256(raw).hexdigest()
        if not ledger.imported(path.name, digest):
            tally += bring_in(ledger, rules, "offline-file", raw, None)
            ledger.mark_imported(path.name, digest)
    for batch, file in ledger.read("SELECT id, file FROM batches WHERE kind = 'offline' AND state = 'intent'"):
        if not ledger.read("SELECT 1 FROM requests WHERE batch = ? AND state = 'sent' LIMIT 1", batch):
            ledger.update_batch(int(str(batch)), state="collected")
        elif not (ledger.folder / "requests" / str(file)).exists():
            ledger.release_batch(int(str(batch)), "withdrawn", "its file of requests was removed", time.time())
            ledger.update_batch(int(str(batch)), state="failed", note="withdrawn")
    return tally
