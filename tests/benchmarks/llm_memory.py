"""Memory of the LLM checker over many pairs, against the scripted server in a process of its own.

    python -m tests.benchmarks.llm_memory [--pairs 100000]

Pairs stream in lists of the size that the grading stage uses; every outcome is counted and let go. Prints the resident
memory of the process at 10, 50 and 100 % of the pairs: flat is what a night needs that reads a whole archive.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.llm_checker import SECRET, serve
from tests.builders import evidence, item
from tests.servers.scripted import KEY
from verification_pipeline.checkers.llm.checker import LLMChecker
from verification_pipeline.checkers.protocol import Item, Judgement
from verification_pipeline.checkers.retrieval import WordRetriever
from verification_pipeline.config import OpenAI
from verification_pipeline.stages.grading import chunks

PAIRS_A_SOURCE = 25


def stream(pairs: int) -> Iterator[Item]:
    """Pairs of sources of 300 words, made as they are taken."""
    filler = "the weir was built of stone and timber in the spring after the flood " * 11
    for n in range(pairs // PAIRS_A_SOURCE):
        said = [f"Gate {n} of lock {k} is {n + k} cm wide." for k in range(PAIRS_A_SOURCE)]
        source = evidence(str(n), f"{filler} {' '.join(said)} {filler}")
        yield from (item(claim, source) for claim in said)


def resident_mb() -> float:
    """Resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=100_000)
    options = parser.parse_args()
    os.environ["OPENAI_API_KEY"] = KEY
    context = multiprocessing.get_context("spawn")
    ready = context.Queue()
    process = context.Process(target=serve, args=(0.0, ready), daemon=True)
    process.start()
    rules = OpenAI(base_url=f"http://127.0.0.1:{ready.get(timeout=60)}/v1", candidates=0)
    marks = [options.pairs // 10, options.pairs // 2, options.pairs]
    figures: dict[str, float] = {}
    outcomes: Counter[str] = Counter()
    began, busy = time.perf_counter(), time.process_time()
    try:
        with tempfile.TemporaryDirectory() as folder:
            checker = LLMChecker(rules, SECRET, Path(folder))
            for chunk in chunks(stream(options.pairs)):
                found = checker.check(chunk, WordRetriever())
                outcomes.update(one.verdict if isinstance(one, Judgement) else one.reason for one in found)
                if marks and outcomes.total() >= marks[0]:
                    gc.collect()
                    figures[f"{marks.pop(0)} pairs"] = resident_mb()
    finally:
        process.kill()
    seconds = {"wall_s": round(time.perf_counter() - began, 1), "cpu_s": round(time.process_time() - busy, 1)}
    print(json.dumps({"resident_mb": figures, "outcomes": outcomes, **seconds}, indent=1))


if __name__ == "__main__":
    main()
