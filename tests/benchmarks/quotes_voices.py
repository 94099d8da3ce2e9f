"""Speed of the quote check and of clustering, on seeded text. CPU time of one core.

    python tests/benchmarks/quotes_voices.py [--bodies 4000] [--million]

`--million` also joins the sketches of a million bodies (half a gigabyte of hashes) and prints the peak memory.
"""

from __future__ import annotations

import argparse
import random
import resource
import time
from collections.abc import Callable, Sequence

import numpy as np

from verification_pipeline import keys
from verification_pipeline.config import Settings
from verification_pipeline.independence import Member, all_shingles, cluster_archive, measuring, sketch
from verification_pipeline.independence.sketches import SketchColumns, candidates
from verification_pipeline.quotes.compare import Searchable, find
from verification_pipeline.quotes.quotation import Quotation
from verification_pipeline.records import Evidence, Source
from verification_pipeline.stages.voices import SketchRow
from verification_pipeline.tables import frame
from verification_pipeline.text.index import IndexedText
from verification_pipeline.text.stack import stacked

SETTINGS = Settings()
VOCABULARY = 20_000


def vocabulary(rng: random.Random) -> list[str]:
    """Invented words, the first few hundred as short and as common as a language's."""
    return ["".join(rng.choice("etaoinshrdlucmfwypvbgk") for _ in range(rng.randint(2, 10))) for _ in range(VOCABULARY)]


def body(words: Sequence[str], rng: random.Random, count: int) -> str:
    """A text of `count` words, their frequencies falling as one over rank, in sentences and paragraphs."""
    chosen = [words[min(VOCABULARY - 1, int(VOCABULARY ** rng.random()) - 1)] for _ in range(count)]
    for k in range(0, count, 17):
        chosen[k] = chosen[k].capitalize()
        chosen[k - 1] += "." if k % 5 else ".\n\n"
    return " ".join(chosen)


def microseconds(action: Callable[[], object], times: int) -> float:
    """CPU microseconds of one call, the best of five rounds."""
    best = float("inf")
    for _ in range(5):
        started = time.process_time()
        for _ in range(times):
            action()
        best = min(best, (time.process_time() - started) / times)
    return best * 1e6


def quotes(words: Sequence[str], rng: random.Random) -> None:
    """A quote of about 20 words against one source of 67 kB: verbatim, with two words replaced, absent."""
    text = body(words, rng, 10_500)
    source = Searchable(IndexedText("", text))
    find(Quotation.parse("no such words in here at all"), source, SETTINGS.quotes, near=True)
    tokens = text.split(" ")
    kinds: dict[str, list[str]] = {"exact": [], "near miss": [], "absent": []}
    for _ in range(60):
        k = rng.randrange(len(tokens) - 21)
        run = tokens[k : k + 20]
        kinds["exact"].append(" ".join(run))
        kinds["near miss"].append(" ".join([*run[:6], rng.choice(words), *run[7:12], rng.choice(words), *run[13:]]))
        kinds["absent"].append(" ".join(tokens[rng.randrange(len(tokens))] for _ in range(20)))
    print(f"quotes against {len(text) / 1000:.0f} kB")
    for kind, asked in kinds.items():
        cost = microseconds(
            lambda asked=asked: [find(Quotation.parse(q), source, SETTINGS.quotes, near=True) for q in asked], 1
        )
        print(f"  {kind:10} {cost / len(asked):7.1f} µs")


def clustering(words: Sequence[str], rng: random.Random, count: int) -> None:
    """`count` bodies of 1,500 words, one in ten a copy with 2 % of its words changed: from the word index to rows."""
    texts = [body(words, rng, 1_500) for _ in range(count - count // 10)]
    for k in range(count // 10):
        texts.append(" ".join(rng.choice(words) if rng.random() < 0.02 else w for w in texts[k].split(" ")))
    evidence = {}
    for k, text in enumerate(texts):
        key = keys.source_key("bench", None, str(k))
        evidence[key] = Evidence(Source(key, str(k)), IndexedText(key, text))
    stacks = list(stacked(one.body for one in evidence.values()))  # as the sources of documents are read
    started = time.process_time()
    sketches = [
        sketch(evidence[key], SETTINGS.independence, shingles)
        for stack in stacks
        for key, shingles in zip(stack.names, all_shingles(stack, SETTINGS.independence), strict=True)
    ]
    sketched = time.process_time() - started
    table = frame("sketches", [SketchRow.of(one, None) for one in sketches])
    sources = [Member.of(one.source, SETTINGS.independence) for one in evidence.values()]
    started = time.process_time()
    measure = measuring(lambda key: evidence[key].body, SETTINGS.independence)
    rows = cluster_archive(sources, table, measure, SETTINGS.independence)
    joined = time.process_time() - started
    print(f"clustering {count} bodies of 1,500 words: {len(rows)} rows")
    print(f"  sketches {count / sketched:9.0f} bodies/s")
    print(f"  clusters {count / joined:9.0f} bodies/s")
    print(f"  together {count / (sketched + joined):9.0f} bodies/s")


def million() -> None:
    """Sketches of a million bodies, one in fifty a copy, joined in memory."""
    rng = np.random.default_rng(1)
    count, samples = 1_000_000, 94
    hashes = rng.integers(0, (1 << 63) // 16, (count, samples), dtype=np.int64)
    hashes[-count // 50 :] = hashes[: count // 50]
    hashes.sort(axis=1)
    offsets = np.arange(count + 1, dtype=np.int64) * samples
    limits, sizes = np.full(count, (1 << 63) // 16, np.int64), np.full(count, 1_496, np.int64)
    columns = SketchColumns(hashes.reshape(-1), offsets, limits, sizes)
    started = time.process_time()
    found = candidates(columns, np.full(count, -1, np.int64), SETTINGS.independence)
    seconds = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"joining a million sketches: {len(found)} candidates in {seconds:.0f} s, peak {peak:.2f} GB")


def main() -> None:
    """Run the benchmarks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bodies", type=int, default=4_000)
    parser.add_argument("--million", action="store_true")
    options = parser.parse_args()
    rng = random.Random(7)
    words = vocabulary(rng)
    quotes(words, rng)
    clustering(words, rng, options.bodies)
    if options.million:
        million()


if __name__ == "__main__":
    main()
