"""What `doctor` says: one finding a subject, ok, warning or failed, with what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from verification_pipeline.errors import PipelineError

Outcome = Literal["ok", "warning", "failed"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at. `advice` says what to do; None where nothing is to be done."""

    subject: str
    outcome: Outcome
    found: str
    advice: str | None = None


Probe = Callable[[], Iterator[Finding]]
"""Looks at one subject. It may raise; `told` makes a finding of that."""


def told(subject: str, probe: Probe) -> Iterator[Finding]:
    """The findings of a probe; one that cannot look is a failed finding of its subject, and stops no other."""
    try:
        yield from probe()
    except (PipelineError, OSError, ValueError) as error:
        yield Finding(subject, "failed", f"cannot be looked at: {error}", "repair what is named, then ask again")
