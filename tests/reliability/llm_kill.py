"""Kill the LLM checker at random moments and count what it cost.

    python -m tests.reliability.llm_kill [--kills 200] [--seed 1]

A child process asks a scripted server (in this process) and is killed with SIGKILL after a random time; another one
goes on where it was. Online: no answer that the ledger had is asked again, and each kill repeats at most the requests
in flight. Batch: no batch is created twice, wherever the kill falls. Prints one JSON object; exit status 1 on a fault.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import signal
import sqlite3
import tempfile
import time
from collections import Counter
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from tests.builders import evidence, item
from tests.servers.scripted import KEY, Script, Server, serving
from verification_pipeline.checkers.llm.checker import LLMChecker
from verification_pipeline.checkers.protocol import Item, Judgement
from verification_pipeline.checkers.retrieval import WordRetriever
from verification_pipeline.config import OpenAI

IN_FLIGHT = 8
SECRET = "5a" * 32


def work(sources: int, first: int) -> list[Item]:
    """Two pairs a source, one that it says and one that it denies."""
    made = []
    for n in range(first, first + sources):
        source = evidence(str(n), f"Dam {n} holds {n} million litres. It was built in {1900 + n % 100}.")
        made += [item(f"Dam {n} holds {n + k} million litres.", source) for k in (0, 1)]
    return made


def checker(base_url: str, folder: Path, mode: str) -> LLMChecker:
    rules = OpenAI(
        base_url=base_url,
        mode=mode,
        concurrency=IN_FLIGHT,
        candidates=0,
        batch_max_requests=5,
        batch_settle_seconds=0.5,
        backoff_seconds=0.02,
    )
    return LLMChecker(rules, SECRET, folder)


def child(base_url: str, folder: Path, mode: str, sources: int, first: int, queue: Any) -> None:
    """Ask everything; on the queue: started, then the outcomes by kind."""
    queue.put("started")
    outcomes = checker(base_url, folder, mode).check(work(sources, first), WordRetriever())
    kinds = (one.verdict if isinstance(one, Judgement) else one.reason for one in outcomes)
    queue.put(dict(Counter(kinds)))


def started(*arguments: Any) -> tuple[BaseProcess, Any]:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.reliability.warm"])
    queue = context.Queue()
    process = context.Process(target=child, args=(*arguments, queue))
    process.start()
    assert queue.get(timeout=60) == "started"
    return process, queue


def stored(folder: Path) -> set[str]:
    """Keys that the ledger holds an answer for."""
    path = folder / "ledger.sqlite"
    if not path.exists():
        return set()
    with sqlite3.connect(path) as db:
        try:
            return {key for (key,) in db.execute("SELECT key FROM answers")}
        except sqlite3.OperationalError:
            return set()


def kill_online(server: Server, folder: Path, kills: int, dice: random.Random) -> dict[str, int]:
    """Kills while requests are in flight; new work is added as the old is done."""
    figures: Counter[str] = Counter()
    script = server.script
    sources = 40
    for first in range(0, 10**9, sources):
        while True:
            before, had = Counter(script.asked), stored(folder)
            process, queue = started(server.base_url, folder, "online", sources, first)
            process.join(dice.uniform(0.0, 0.6))
            if process.exitcode is None:
                os.kill(process.pid or 0, signal.SIGKILL)
                figures["kills"] += 1
            process.join()
            kept = stored(folder)
            figures["answers_lost"] += len(had - kept)
            repeated = sum(n - max(1, before[label]) for label, n in script.asked.items() if n > max(1, before[label]))
            figures["most_repeated_pairs"] = max(figures["most_repeated_pairs"], repeated)
            figures["repeated_pairs"] += repeated
            if process.exitcode == 0:
                outcomes = queue.get(timeout=10)
                figures["wrong"] += outcomes != {"supported": sources, "unsupported": sources}
                break
            if figures["kills"] >= kills:
                break
        if figures["kills"] >= kills:
            return dict(figures)
    return dict(figures)


def kill_batch(server: Server, folder: Path, kills: int, dice: random.Random) -> dict[str, int]:
    """Kills while batches are entered, uploaded, created, polled and collected."""
    figures: Counter[str] = Counter()
    script = server.script
    sources = 15
    first = 0
    while figures["kills"] < kills:
        process, queue = started(server.base_url, folder, "batch", sources, first)
        process.join(dice.uniform(0.0, 0.35))
        if process.exitcode is None:
            os.kill(process.pid or 0, signal.SIGKILL)
            figures["kills"] += 1
        process.join()
        if process.exitcode == 0:
            outcomes = queue.get(timeout=10)
            if set(outcomes) == {"supported", "unsupported"}:
                figures["wrong"] += outcomes != {"supported": sources, "unsupported": sources}
                figures["rounds"] += 1
                first += sources
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        outcomes = checker(server.base_url, folder, "batch").check(work(sources, first), WordRetriever())
        if all(isinstance(one, Judgement) for one in outcomes):
            break
        time.sleep(0.3)
    figures["unfinished"] = sum(not isinstance(one, Judgement) for one in outcomes)
    figures["batches"] = len(script.batches)
    contents = Counter(script.files[one["input_file_id"]] for one in script.batches.values())
    figures["batches_paid_twice"] = sum(n - 1 for n in contents.values())
    figures["pairs_paid_twice"] = sum(n - 1 for n in script.asked.values())
    return dict(figures)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="in each of the two modes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mode", choices=["online", "batch", "both"], default="both")
    options = parser.parse_args()
    os.environ["OPENAI_API_KEY"] = KEY
    report: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, serving() as server:
        if options.mode != "batch":
            server.script = Script(delay=0.03)
            report["online"] = kill_online(server, Path(folder) / "online", options.kills, random.Random(options.seed))
        if options.mode != "online":
            server.script = Script(delay=0.08, polls=2)
            report["batch"] = kill_batch(server, Path(folder) / "batch", options.kills, random.Random(options.seed))
    print(json.dumps(report, indent=1))
    online, batch = report.get("online", {}), report.get("batch", {})
    faults = [
        online.get("answers_lost", 0),
        online.get("wrong", 0),
        online.get("most_repeated_pairs", 0) > 2 * IN_FLIGHT,
        batch.get("batches_paid_twice", 0),
        batch.get("pairs_paid_twice", 0),
        batch.get("unfinished", 0),
        batch.get("wrong", 0),
    ]
    raise SystemExit(any(faults))


if __name__ == "__main__":
    main()
