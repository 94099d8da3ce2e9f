"""Kill whole nights at random moments, take the disk away, and look at what is left.

    python -m tests.reliability.kill ARCHIVE [--kills 25] [--seed 1] [--documents 20] [--workers 2] [--only kills|disks]

ARCHIVE is a planted archive. Nights are killed with SIGKILL: all processes at once (as when power fails), only the
command (its workers live on), or one worker. Half the nights are first ones, half re-verify a store after a document
and a source changed. A night is killed, resumed and killed again, three to seven times: a quarter of the kills anywhere
from its first instruction on, the others once it holds its store, at a moment counted in CPU seconds, which a busy
machine does not shift. After every kill no table may be torn and no key may stand in two rows. Then the night is run
to its end, and every table, receipt and file must be what an undisturbed night gives, byte for byte where no moment is
in it, with nothing left beside them.
Disks: read-only, and full at several moments: one line on standard error, exit status 2, and the next night with space
ends as if nothing had been (Linux as root, for the mounts; skipped with a word where that is not allowed).
Prints one JSON object; exit status 1 on a fault.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support import processes, stores
from tests.support.planted import first_documents

_PATIENCE = 900
_GRACE = 5.0
_LOOK = 0.05


@dataclass(frozen=True, slots=True)
class Scenario:
    """A night that is disturbed: the store it starts from (None: a new one), its corpus, what it must end with."""

    name: str
    before: Path | None
    corpus: Path
    held: float
    """CPU seconds that an undisturbed night spends until it holds its store."""
    seconds: float
    """CPU seconds of an undisturbed night."""
    results: dict[str, str]
    told: dict[str, list[str]] | None = None
    """Rows of `changes` and `metrics` that it writes; None where that is not compared."""

    def store_in(self, folder: Path) -> Path:
        """A store to disturb, in a new folder."""
        if self.before is not None:
            shutil.copytree(self.before, folder)
        return folder


@dataclass(slots=True)
class Report:
    """Counts, and every fault in words."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    def fault(self, *words: str) -> None:
        """Keep faults, and say them at once: a run takes long."""
        self.faults += words
        for line in words:
            print(line, file=sys.stderr, flush=True)

    def as_json(self) -> dict[str, Any]:
        return {**dict(sorted(self.counts.items())), "told": self.told, "faults": self.faults}


def night(corpus: Path, out: Path, workers: int) -> list[object]:
    """Arguments of the night."""
    return ["run", corpus, "--out", out, "--checker", "none", "--workers", workers]


# ---- what an undisturbed night gives


def scenarios(archive: Path, folder: Path, documents: int, workers: int) -> list[Scenario]:
    """A first night, and one over its store after a document and a source changed."""
    before = first_documents(archive, documents, folder / "before" / "corpus")
    after = folder / "after" / "corpus"
    shutil.copytree(before, after)
    changed = sorted((after / "documents").iterdir())[documents // 2]
    changed.write_text(changed.read_text("utf-8") + "\nNothing more is known.\n", "utf-8")
    rows = (after / "sources.jsonl").read_text("utf-8").splitlines(keepends=True)
    row = json.loads(rows[0])
    rows[0] = json.dumps({**row, "text": row["text"] + " Nothing more is known."}) + "\n"
    (after / "sources.jsonl").write_text("".join(rows), "utf-8")
    first = _undisturbed("first night", None, before, folder / "first", workers)
    second = _undisturbed("second night", folder / "first", after, folder / "second", workers)
    return [first, second]


def _undisturbed(name: str, before: Path | None, corpus: Path, out: Path, workers: int) -> Scenario:
    if before is not None:
        shutil.copytree(before, out)
    known = _holder(out)
    process = processes.start(*night(corpus, out, workers))
    held = seconds = 0.0
    while process.poll() is None:
        seconds = max(seconds, processes.cpu_seconds(process.pid))
        if not held and _holder(out) != known:
            held = seconds
        time.sleep(_LOOK)
    if process.returncode:
        raise SystemExit(f"the {name} ends with {process.returncode} undisturbed")
    told = stores.nights_told(out, stores.runs(before))
    return Scenario(name, before, corpus, held, seconds, stores.results(out), told)


def _holder(out: Path) -> int:
    """When a night last wrote that it holds the store; 0: none did."""
    try:
        return (out / ".holder").stat().st_mtime_ns
    except OSError:
        return 0


# ---- kills


def kills(told: list[Scenario], folder: Path, count: int, dice: random.Random, workers: int, report: Report) -> None:
    """Nights killed three to seven times, then run to the end."""
    rounds = 0
    while report.counts["kills"] < count:
        scenario = told[rounds % len(told)]
        out = scenario.store_in(folder / f"round-{rounds}")
        strays: list[int] = []
        for _ in range(dice.randint(3, 7)):
            if report.counts["kills"] < count:
                strays += _killed(scenario, out, dice, workers, report)
        _to_the_end(scenario, out, workers, report)
        _end_strays(strays, report)
        shutil.rmtree(out)
        rounds += 1
    report.counts["nights run to the end"] = rounds


def _killed(scenario: Scenario, out: Path, dice: random.Random, workers: int, report: Report) -> list[int]:
    """One night, disturbed at a random moment; the processes that outlived it."""
    how = dice.choice(["all", "command", "worker"])
    moment = dice.uniform(0 if dice.random() < 0.25 else scenario.held, scenario.seconds)
    with tempfile.TemporaryFile("w+") as said:
        process = processes.start(*night(scenario.corpus, out, workers), stderr=said.fileno())
        while process.poll() is None and processes.cpu_seconds(process.pid) < moment:
            time.sleep(_LOOK)
        struck = None if process.returncode is not None else _strike(process, how, dice)
        if struck is None:
            report.counts["nights that ended before their kill"] += 1
            process.wait(_PATIENCE)
            return []
        report.counts["kills"] += 1
        report.counts["kills before the store was held"] += moment < scenario.held
        report.counts[f"kills of {struck}"] += 1
        status = process.wait(_PATIENCE)
        said.seek(0)
        words = said.read()
    where = f"{scenario.name}, {struck} killed after {moment:.2f} CPU-s"
    if struck == "worker" and status not in (0, 3):
        report.fault(f"{where}: exit status {status}: {words[-500:]}")
    elif struck == "worker" and status == 3 and len(words.splitlines()) != 1:
        report.fault(f"{where}: {len(words.splitlines())} lines on standard error: {words[-500:]}")
    if struck != "command":
        report.fault(*(f"{where}: {fault}" for fault in stores.faults(out)))
    return processes.members(process.pid)


def _strike(process: subprocess.Popen[str], how: str, dice: random.Random) -> str | None:
    """Kill; what was killed."""
    living = processes.members(process.pid)
    helpers = [pid for pid in living if pid != process.pid and b"spawn_main" in _command_line(pid)]
    try:
        if how == "all":
            os.killpg(process.pid, signal.SIGKILL)
        elif how == "worker" and helpers:
            os.kill(dice.choice(helpers), signal.SIGKILL)
        else:
            how = "command"
            os.kill(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return None
    return how


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _to_the_end(scenario: Scenario, out: Path, workers: int, report: Report) -> None:
    """Run the night to its end and compare."""
    ended = processes.measured(*night(scenario.corpus, out, workers))
    if ended.status:
        report.fault(f"{scenario.name}: the next night ends with {ended.status}: {ended.stderr[-500:]}")
        return
    found = [*stores.faults(out), *stores.duckdb_faults(out), *stores.leftovers(out)]
    found += _differences(scenario.results, stores.results(out))
    if scenario.told is not None:
        found += _told_otherwise(scenario.told, stores.nights_told(out, stores.runs(scenario.before)))
    report.fault(*(f"{scenario.name}: {fault}" for fault in found))


def _told_otherwise(expected: dict[str, list[str]], found: dict[str, list[str]]) -> list[str]:
    """Changes that were lost, invented or told by two nights, and metrics that differ."""
    faults = []
    for table, rows in expected.items():
        lost, more = Counter(rows) - Counter(found[table]), Counter(found[table]) - Counter(rows)
        if lost:
            faults.append(f"{table}: {lost.total()} rows of an undisturbed night are missing")
        if more:
            twice = sum(row in expected[table] for row in more.elements())
            faults.append(f"{table}: {more.total()} rows too many, {twice} of them told twice")
    return faults


def _differences(expected: dict[str, str], found: dict[str, str]) -> list[str]:
    names = sorted(expected.keys() | found.keys())
    return [f"{name} is not as undisturbed" for name in names if expected.get(name) != found.get(name)]


def _end_strays(strays: list[int], report: Report) -> None:
    """Workers that outlive a killed command by more than a moment."""
    until = time.monotonic() + _GRACE
    while time.monotonic() < until and any(map(_lives, strays)):
        time.sleep(0.1)
    living = [pid for pid in strays if _lives(pid)]
    if living:
        report.fault(f"{len(living)} workers outlive their killed command until the end of the next night")
    for pid in living:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _lives(pid: int) -> bool:
    return b"spawn_main" in _command_line(pid) or b"resource_tracker" in _command_line(pid)


# ---- disks


def disks(scenario: Scenario, folder: Path, workers: int, report: Report) -> None:
    """A first night on a full disk, then with space; a night on a read-only store, then on a writable one."""
    _full_disk(scenario, folder, workers, report)
    _read_only(scenario, folder, workers, report)


def _full_disk(scenario: Scenario, folder: Path, workers: int, report: Report) -> None:
    size = sum(path.stat().st_size for path in (folder / "first").rglob("*") if path.is_file())
    for share in (0.02, 0.3, 0.6, 0.85, 0.98):
        place = folder / f"disk-{share}"
        with _mounted(place, "tmpfs", "tmpfs", f"size={int(size * share / 4096) * 4}k") as allowed:
            if not allowed:
                report.told.append("full disk: skipped, mounting is not allowed here")
                return
            out = place / "out"
            ended = processes.measured(*night(scenario.corpus, out, workers))
            report.counts["full disks"] += 1
            where = f"disk full at {share:.0%} of what a night needs"
            _refused(where, "No space left on device", ended, report)
            if out.exists():
                report.fault(*(f"{where}: {fault}" for fault in stores.faults(out)))
            subprocess.run(["mount", "-o", f"remount,size={size * 4}", str(place)], check=True)
            _to_the_end(scenario, out, workers, report)


def _read_only(scenario: Scenario, folder: Path, workers: int, report: Report) -> None:
    kept, place = folder / "kept", folder / "read-only"
    shutil.copytree(folder / "first", kept)
    before = {str(path): path.read_bytes() for path in sorted(kept.rglob("*")) if path.is_file()}
    with _mounted(place, str(kept), None, "bind") as allowed:
        if not allowed:
            report.told.append("read-only store: skipped, mounting is not allowed here")
            return
        subprocess.run(["mount", "-o", "remount,ro,bind", str(place)], check=True)
        for what, out in (("a read-only store", place), ("a new store on a read-only disk", place / "new")):
            ended = processes.measured(*night(scenario.corpus, out, workers))
            _refused(what, "Read-only file system", ended, report)
            report.counts["read-only disks"] += 1
    after = {str(path): path.read_bytes() for path in sorted(kept.rglob("*")) if path.is_file()}
    if before != after:
        report.fault("a read-only store changed")
    _to_the_end(Scenario("unchanged night", None, scenario.corpus, 0, 0, scenario.results), kept, workers, report)


def _refused(where: str, why: str, ended: processes.Ended, report: Report) -> None:
    lines = ended.stderr.splitlines()
    report.told.append(f"{where}: {ended.status}: {lines[-1] if lines else ''}")
    if why not in ended.stderr:
        report.fault(f"{where}: nothing says {why!r}: {ended.stderr[:1500]}")
    if ended.status != 2:
        report.fault(f"{where}: exit status {ended.status}")
    if len(lines) != 1:
        report.fault(f"{where}: {len(lines)} lines on standard error: {ended.stderr[:1500]}")


@contextmanager
def _mounted(place: Path, what: str, kind: str | None, options: str) -> Iterator[bool]:
    place.mkdir()
    chosen = ["-t", kind] if kind else []
    done = subprocess.run(["mount", *chosen, "-o", options, what, str(place)], capture_output=True, check=False)
    try:
        yield done.returncode == 0
    finally:
        if done.returncode == 0:
            subprocess.run(["umount", "-l", str(place)], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--kills", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--documents", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", choices=["kills", "disks"])
    options = parser.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        told = scenarios(options.archive, folder, options.documents, options.workers)
        if options.only != "disks":
            kills(told, folder, options.kills, random.Random(options.seed), options.workers, report)
        if options.only != "kills":
            disks(told[0], folder, options.workers, report)
    print(json.dumps(report.as_json(), indent=1, ensure_ascii=False))
    raise SystemExit(bool(report.faults))


if __name__ == "__main__":
    main()
