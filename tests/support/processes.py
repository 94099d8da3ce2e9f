"""The command as a process group of its own: run to the end and measured, or left running for a test to disturb."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PIPE = subprocess.PIPE
_SAMPLE_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Ended:
    """A finished run. CPU seconds are those of the whole process tree, memory is the peak of all its processes."""

    status: int
    stdout: str
    stderr: str
    cpu_seconds: float
    wall_seconds: float
    peak_megabytes: float


def command(*arguments: object) -> list[str]:
    """The command line of the `verification-pipeline` that is installed beside this interpreter."""
    return [str(Path(sys.executable).with_name("verification-pipeline")), *map(str, arguments)]


def start(*arguments: object, stderr: int | None = None) -> subprocess.Popen[str]:
    """Start the command in a session, and so a process group, of its own."""
    return subprocess.Popen(
        command(*arguments), stdout=subprocess.DEVNULL, stderr=stderr, text=True, start_new_session=True
    )


def measured(*arguments: object) -> Ended:
    """Run the command to its end. Nothing else may be waited for meanwhile: CPU time is that of all ended children."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        before, clock = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        process = subprocess.Popen(command(*arguments), stdout=out, stderr=err, start_new_session=True)
        peaks = [0]
        sampler = threading.Thread(target=_sample, args=(process, peaks))
        sampler.start()
        status = process.wait()
        wall = time.monotonic() - clock
        sampler.join()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        out.seek(0)
        err.seek(0)
        return Ended(status, out.read(), err.read(), cpu, wall, peaks[0] / 1024)


def members(group: int) -> list[int]:
    """Living processes of a group, the leader first. (Linux: read from /proc.)"""
    return sorted(pid for pid, _ in _living(group))


def cpu_seconds(group: int) -> float:
    """CPU seconds that the living processes of a group and their ended children have spent. (Linux.)"""
    return sum(sum(map(int, stat[11:15])) for _, stat in _living(group)) / os.sysconf("SC_CLK_TCK")


def _living(group: int) -> Iterator[tuple[int, list[str]]]:
    """Process ids, and what `/proc/PID/stat` says after the name: state, parent, group, …"""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(stat[2]) == group and stat[0] not in "ZX":
                yield int(entry.name), stat


def _sample(process: subprocess.Popen[bytes], peaks: list[int]) -> None:
    while process.poll() is None:
        peaks[0] = max(peaks[0], sum(map(_kilobytes, members(process.pid))))
        time.sleep(_SAMPLE_SECONDS)


def _kilobytes(pid: int) -> int:
    """Memory of a process, pages that several share counted in parts (resident set where the kernel hides that)."""
    for name, field in (("smaps_rollup", "Pss:"), ("status", "VmRSS:")):
        try:
            lines = Path(f"/proc/{pid}/{name}").read_text().splitlines()
        except OSError:
            continue
        return next((int(line.split()[1]) for line in lines if line.startswith(field)), 0)
    return 0
