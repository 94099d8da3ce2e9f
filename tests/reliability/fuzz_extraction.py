"""Extraction on mutated documents: no crash, the sums hold, offsets slice.

    python tests/reliability/fuzz_extraction.py FOLDER [inputs] [seed]

FOLDER holds documents: bundles (`*.jsonl` with `markdown`) and Markdown files. Every input is a stretch of one document
with a few mutations: cut, doubled, moved, spliced with another document, and strewn with brackets, markers, markup and
the scripts and controls that break readers. Faults are printed with the seed of their input, which makes it again.
"""

from __future__ import annotations

import json
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from verification_pipeline.citations import SourceCatalogue, count_marker_like, extract
from verification_pipeline.config import Settings
from verification_pipeline.keys import document_key, source_key, text_sha256
from verification_pipeline.records import Citations, Document, Source

LONGEST = 3_000
"""Code points of a stretch: long enough for lists and tables, short enough for many inputs."""
_LANGUAGES = (None, "en", "de", "zh", "ar", "ru", "xx")
_PIECES = (
    "[1]", "[2, 3]", "[4-6]", "[[1]](https://a.example/1)", "[1](https://a.example/1)", "[[s2]]", "[[s3|x#y]]",
    "[^1]", "[^n]: see [2], p. 4\n", "[1]: https://a.example/1\n", "\n[1] Title. https://a.example/1\n",
    "【4†L1-L2】", "［5］", "¹²", "<sup>3</sup>", "<sup>", "</sup>", "\\[5\\]", "$x_{[1]}$", "$$", "\\(",
    "(Alder, 2011)", "Alder et al. [2011]", "[", "]", "[[", "]]", "(", ")", "](", "【", "】", "![", "`", "```\n",
    "~~~\n", "<", ">", "<!--", "-->", "<table><tr><td>", "<p>", "<a href='x'>", "</a>", "&amp;", "&#91;1&#93;",
    "| a | b |\n|---|---|\n| c [1] | [2] |\n", "|", "\n\n", "\n", "\r\n", "\r", "\t", "    ", "\n> ", "\n- ",
    "\n1. ", "\n# ", "\n## References\n", "\nSources:\n", "\n---\n", "\n===\n", "**", "_", "~~", "\\", "$5", "5 %",
    "1.2M", "2019–21", "...", "…", "。", "？", "他来了[1]。", "ヒト【2】", "한국 [3]", "مرحبا [1] بالعالم",
    "שלום [2]", "\u202e[1]\u202c", "\u200f", "\u200b", "\ufeff", "\u2028", "\u2029", "\u0085", "\x00", "\x01",
    "\x0b", "\x0c", "\x1b", "\x7f", "e\u0301", "😀", "👩\u200d👩\u200d👧", "\U0010ffff",
    "\ue200cite\ue202turn0search1\ue201", "https://a.example/(x)_[1]", "doi:10.1000/182", "www.a.example",
    "http://[::1]/", "[1](<a b>)", "[x]: <", "[0, 1]",
)  # fmt: skip


def documents(folder: Path) -> list[str]:
    """The texts of a folder, in the order of their files."""
    texts: list[str] = []
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".jsonl":
            rows = (json.loads(line) for line in path.read_bytes().split(b"\n") if line.strip())
            texts += [row["markdown"] for row in rows if isinstance(row.get("markdown"), str)]
        elif path.suffix == ".md":
            texts.append(path.read_text("utf-8", errors="replace"))
    return [text for text in texts if text.strip()]


def mutated(texts: Sequence[str], seed: str) -> str:
    """A stretch of one of the texts with one to twelve mutations, all drawn from the seed."""
    chance = random.Random(seed)
    text = _stretch(texts, chance, LONGEST)
    for _ in range(chance.choice((1, 1, 2, 3, 5, 8, 12))):
        text = chance.choice(_MUTATIONS)(text, texts, chance)
    return text[: 2 * LONGEST]


def _stretch(texts: Sequence[str], chance: random.Random, longest: int) -> str:
    text = chance.choice(texts)
    start = chance.choice((0, chance.randrange(len(text)), max(0, len(text) - longest)))
    return text[start : start + chance.randint(1, longest)]


def _range(text: str, chance: random.Random, longest: int = 400) -> tuple[int, int]:
    start = chance.randint(0, len(text))
    return start, min(len(text), start + chance.randint(0, longest))


def _insert(text: str, texts: Sequence[str], chance: random.Random) -> str:
    at = chance.randint(0, len(text))
    return text[:at] + chance.choice(_PIECES) * chance.choice((1, 1, 1, 2, 30)) + text[at:]


def _strew(text: str, texts: Sequence[str], chance: random.Random) -> str:
    """One piece at many places."""
    piece, every = chance.choice(_PIECES), chance.randint(1, 80)
    return piece.join(text[at : at + every] for at in range(0, min(len(text), 1_500), every)) + text[1_500:]


def _delete(text: str, texts: Sequence[str], chance: random.Random) -> str:
    start, end = _range(text, chance)
    return text[:start] + text[end:]


def _double(text: str, texts: Sequence[str], chance: random.Random) -> str:
    start, end = _range(text, chance)
    return text[:end] + text[start:end] * chance.choice((1, 1, 4)) + text[end:]


def _move(text: str, texts: Sequence[str], chance: random.Random) -> str:
    start, end = _range(text, chance)
    rest = text[:start] + text[end:]
    at = chance.randint(0, len(rest))
    return rest[:at] + text[start:end] + rest[at:]


def _splice(text: str, texts: Sequence[str], chance: random.Random) -> str:
    at = chance.randint(0, len(text))
    return text[:at] + _stretch(texts, chance, 800) + text[at:]


def _wrap(text: str, texts: Sequence[str], chance: random.Random) -> str:
    """Line breaks for some of the spaces: prose wrapped anywhere."""
    start, end = _range(text, chance, 2_000)
    return text[:start] + text[start:end].replace(" ", chance.choice(("\n", "\n  ", "\n> ", "\u00a0")), 40) + text[end:]


_MUTATIONS: tuple[Callable[[str, Sequence[str], random.Random], str], ...] = (
    _insert, _insert, _insert, _strew, _delete, _double, _move, _splice, _wrap,
)  # fmt: skip


def cited(text: str, seed: str) -> Citations:
    """The citations of a text that has five sources of its own and a language drawn from the seed."""
    document = Document(
        document_key("fuzz", seed),
        "fuzz",
        seed,
        text,
        text_sha256(text),
        language=random.Random(seed).choice(_LANGUAGES),
    )
    own = [
        Source(
            source_key("fuzz", seed, f"s{n}"),
            f"s{n}",
            seed,
            n=n if n % 2 else None,
            url=f"https://a.example/{n}",
            canonical_url=f"https://a.example/{n}",
            title=f"Title {n}",
            status="ok" if n < 5 else "empty",
        )
        for n in range(1, 6)
    ]
    return extract(document, own, SourceCatalogue.build(()), Settings())


def faults(text: str, citations: Citations) -> Iterator[str]:
    """What does not hold."""
    rows, pairs = citations.markers, citations.pairs
    names = {row.pair_id for row in rows if row.status in ("bound", "dangling")}
    ids = [pair.pair_id for pair in pairs]
    if None in names or names != set(ids):
        yield "bound and dangling markers name other pairs than there are"
    if len(set(ids)) != len(ids):
        yield "two pairs have one id"
    if any(row.pair_id for row in rows if row.status not in ("bound", "dangling")):
        yield "a marker that cites nothing names a pair"
    if count_marker_like(text, citations.prose) > len(rows):
        yield "more marker-like tokens than markers"
    if any(text[row.start : row.end] != row.text or not row.text for row in rows):
        yield "a marker's offsets do not slice"
    if any(text[pair.sentence_start : pair.sentence_end] != pair.sentence for pair in pairs):
        yield "a sentence's offsets do not slice"
    if any(not 0 <= start < end <= len(text) for pair in pairs for start, end in pair.claim_spans):
        yield "a claim's span is outside the text"
    if any(text[entry.start : entry.end] != entry.entry for entry in citations.references):
        yield "a reference's offsets do not slice"
    edges = [edge for span in citations.prose for edge in span]
    if edges != sorted(edges) or any(start == end for start, end in citations.prose) or edges[-1:] > [len(text)]:
        yield "the prose is not in order"


def fuzz(texts: Sequence[str], inputs: int, seed: str) -> tuple[Counter[str], list[tuple[str, str]]]:
    """Extract that many mutated inputs: what was found, and every fault with the seed of its input."""
    counts: Counter[str] = Counter()
    found: list[tuple[str, str]] = []
    for number in range(inputs):
        name = f"{seed}-{number}"
        text = mutated(texts, name)
        try:
            citations = cited(text, name)
            wrong = list(faults(text, citations))
        except Exception:  # any at all is the fault looked for
            wrong = [traceback.format_exc(limit=-3)]
        else:
            counts.update(row.status for row in citations.markers)
            counts["pairs"] += len(citations.pairs)
        counts["inputs"] += 1
        counts["characters"] += len(text)
        found += [(name, fault) for fault in wrong]
    return counts, found


def main(folder: Path, inputs: int, seed: str) -> int:
    """Print counts and faults; exit status 1 when there are faults."""
    start = time.process_time()
    counts, found = fuzz(documents(folder), inputs, seed)
    print({name: counts[name] for name in sorted(counts)}, round(time.process_time() - start, 1), "CPU seconds")
    for name, fault in found[:50]:
        print(name, fault)
    print(len(found), "faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(
        main(
            Path(sys.argv[1]),
            int(sys.argv[2]) if len(sys.argv) > 2 else 100_000,
            sys.argv[3] if len(sys.argv) > 3 else "1",
        )
    )
