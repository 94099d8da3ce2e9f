"""Why a receipt, or a row of it, differs from the one before: one cause each, as specific as the two receipts tell.

What may have moved is known as components of the document's fingerprint; `ORDER` is the order in which they explain.
A component that left a trace on the very row (its source's text is another one, its checker's model has another name)
goes before one that merely moved. The causes are

    document added, document edited, document removed
    source lost, source drifted, source added, source changed (its title, address or number; or a shared one)
    engine changed
    checker changed, model changed, prompt changed
    configuration changed, sampling changed
    pending answered, budget, provider outage, provider answered
    retraction published, notice published, notice withdrawn, register outage, register answered, register changed
    policy changed, waiver added, waiver removed, waiver expired, waiver changed
    recheck (it was asked for, and nothing else moved)
    unexplained (there should be none)
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]

ORDER = (
    "document",
    "source",
    "engine",
    "checker",
    "configuration",
    "sampling",
    "register",
    "policy",
    "waiver",
)
"""Components in the order in which they explain a change (architecture: Fingerprint)."""

UNEXPLAINED = "unexplained"
RECHECK = "recheck"

_READING = frozenset({"document", "source", "engine", "configuration"})
_PAIR = _READING | {"checker", "sampling"}
_STATUS = frozenset({"engine", "register"})

_OF_SOURCES = ("source lost", "source drifted", "source added", "source changed")
_OF_CHECKERS = (("checker", "checker changed"), ("model", "model changed"), ("prompt_version", "prompt changed"))
_OF_REGISTERS = (
    "retraction published",
    "notice published",
    "notice withdrawn",
    "register outage",
    "register answered",
    "register changed",
)
_WRITTEN = ("claim", "context", "sentence", "marker", "target", "n", "locator", "strong")
_DRAWN = ("selected", "stratum", "probability")
_NOTICES = frozenset({"retracted", "expression-of-concern", "corrected"})
_ANSWERED = {
    "pending": "pending answered",
    "budget": "budget",
    "provider-error": "provider answered",
    "circuit-open": "provider answered",
}
_LEFT_OPEN = {"budget": "budget", "provider-error": "provider outage", "circuit-open": "provider outage"}


@dataclass(frozen=True, slots=True)
class Moved:
    """What moved between two receipts of one document, and by which name it is called."""

    components: tuple[str, ...]
    """Those that moved, in `ORDER`."""
    sources: Mapping[str, str]
    """source_key → what became of the source; sources that are as they were are left out."""
    names: Mapping[str, str]
    """Component → the cause it is for the document; those that left no trace in the receipt are left out."""
    fallback: str
    """The cause when no component moved."""

    def of_document(self) -> str:
        """Why the receipt is another one."""
        traced = (self.names[component] for component in self.components if component in self.names)
        return next(traced, self._moved(frozenset(ORDER)))

    def of_pair(self, was: Row | None, now: Row | None) -> str:
        """Why a pair came, went or has another outcome."""
        if was is None or now is None:
            return self._moved(_READING)
        return next(self._traces(_PAIR, lambda component: self._on_pair(component, was, now)), None) or (
            _ANSWERED.get(was["reason"] or "") or _LEFT_OPEN.get(now["reason"] or "") or self._moved(_PAIR)
        )

    def of_quote(self, was: Row | None, now: Row | None) -> str:
        """Why a quotation came, went or has another status."""
        if was is None or now is None:
            return self._moved(_READING)
        return next(self._traces(_READING, lambda component: self._on_quote(component, was, now)), None) or self._moved(
            _READING
        )

    def of_work(self, was: Row | None, now: Row | None) -> str:
        """Why a cited work came, went, is acknowledged now, or has another status."""
        if was is None or now is None or _standing(was) == _standing(now):
            return self._moved(_READING | {"register"})
        if "register" in self.components and "engine" not in self.components:
            return _register(was, now)
        return self._moved(_STATUS)

    def of_source(self, was: Row | None, now: Row | None) -> str:
        """Why a source came, went or has another text. One that came or went with an edited document is the edit's."""
        if (was is None or now is None) and "document" in self.components:
            return self._moved({"document"})
        row = was or now or {}
        return self.sources.get(row["source_key"]) or self._moved(_READING)

    def of_voices(self) -> str:
        """Why the number of voices is another one."""
        return self._moved(_READING)

    def _traces(self, touching: Collection[str], trace: Callable[[str], str | None]) -> Iterator[str]:
        found = (trace(component) for component in self.components if component in touching)
        return (cause for cause in found if cause is not None)

    def _on_pair(self, component: str, was: Row, now: Row) -> str | None:
        if component == "document":
            return "document edited" if _differ(was, now, _WRITTEN) else None
        if component == "source":
            return self._on_source(was, now, ("source_key", "correct_source_key"))
        if component == "checker":
            return next((cause for field, cause in _OF_CHECKERS if _differ(was, now, (field,))), None)
        if component == "sampling":
            return "sampling changed" if _differ(was, now, _DRAWN) else None
        return _plain(component)

    def _on_quote(self, component: str, was: Row, now: Row) -> str | None:
        if component == "document":
            return "document edited" if _differ(was, now, ("quote",)) else None
        if component == "source":
            return self._on_source(was, now, ("source_key", "found_in_source_key"))
        return _plain(component)

    def _on_source(self, was: Row, now: Row, fields: Iterable[str]) -> str | None:
        keys = [row[field] for field in fields for row in (was, now)]
        return next((self.sources[key] for key in keys if key in self.sources), None)

    def _moved(self, touching: Collection[str]) -> str:
        """The first component that moved and can touch the thing; else the first that moved; else the fallback."""
        able = [component for component in self.components if component in touching]
        ranked = sorted(able or self.components, key=lambda component: component not in self.names)
        return next((self.names.get(component) or _plain(component) for component in ranked), self.fallback)


def between(
    old: Row, new: Row, components: Iterable[str], *, day: dt.date | None = None, recheck: bool = False
) -> Moved:
    """What moved between two receipts. `components` are those of the fingerprint that differ; others are unknown."""
    order = tuple(sorted(set(components), key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name)))
    sources = dict(_sources(old, new)) if "source" in order else {}
    traced: dict[str, str | None] = {
        "source": next((cause for cause in _OF_SOURCES if cause in sources.values()), None),
        "checker": _checker(old, new),
        "sampling": "sampling changed" if _drawn(old) != _drawn(new) else None,
        "register": _registers(old, new),
        "waiver": _waivers(old, new, day),
    }
    names = {name: cause for name in order if (cause := traced.get(name, _plain(name))) is not None}
    return Moved(order, sources, names, _open(old, new) or (RECHECK if recheck else UNEXPLAINED))


def _plain(component: str) -> str:
    return "document edited" if component == "document" else f"{component} changed"


def _differ(was: Row, now: Row, fields: Iterable[str]) -> bool:
    return any(was[field] != now[field] for field in fields)


def _sources(old: Row, new: Row) -> Iterator[tuple[str, str]]:
    before = {row["source_key"]: row for row in old["sources"]}
    after = {row["source_key"]: row for row in new["sources"]}
    for key in sorted(before.keys() | after.keys()):
        was, now = before.get(key), after.get(key)
        if was is None or now is None:
            yield key, "source added" if was is None else "source lost"
        elif was["status"] != now["status"] and "ok" in (was["status"], now["status"]):
            yield key, "source added" if now["status"] == "ok" else "source lost"
        elif was["text_sha256"] != now["text_sha256"]:
            yield key, "source drifted"
        elif was != now:
            yield key, "source changed"


def _pairs(receipt: Row) -> list[Row]:
    return list(receipt["cite_check"]["rows"])


def _checker(old: Row, new: Row) -> str | None:
    """What is another one among the checkers that either receipt names; None when they name the same."""
    for field, cause in _OF_CHECKERS:
        was, now = ({row[field] for row in _pairs(one) if row["checker"] is not None} for one in (old, new))
        if was != now:
            return cause
    return None


def _drawn(receipt: Row) -> dict[str, list[Any]]:
    return {row["pair_id"]: [row[field] for field in _DRAWN] for row in _pairs(receipt)}


def _standing(work: Row) -> tuple[Any, ...]:
    return work["status"], work["flags"], work["stale"], work["registers"]


def _registers(old: Row, new: Row) -> str | None:
    before = {row["work_id"]: row for row in old["retraction_sweep"]["rows"]}
    after = {row["work_id"]: row for row in new["retraction_sweep"]["rows"]}
    causes = {_register(was, after[key]) for key, was in before.items() if key in after and was != after[key]}
    return next((cause for cause in _OF_REGISTERS if cause in causes), None)


def _register(was: Row, now: Row) -> str:
    """What happened at the registers that a work has another status now."""
    before, after = was["status"], now["status"]
    if after == "unavailable" or (now["stale"] and not was["stale"]):
        return "register outage"
    if before == "unavailable" or (was["stale"] and not now["stale"] and before == after):
        return "register answered"
    if before != after and after in _NOTICES:
        return "retraction published" if after == "retracted" else "notice published"
    return "notice withdrawn" if before in _NOTICES and after == "ok" else "register changed"


def _waivers(old: Row, new: Row, day: dt.date | None) -> str | None:
    before, after = (
        {tuple(sorted(one.items())) for check in receipt["checks"] for one in check["waivers"]}
        for receipt in (old, new)
    )
    if before == after:
        return None
    if not before - after:
        return "waiver added"
    if after - before:
        return "waiver changed"
    ended = [dict(one)["until"] for one in before - after]
    return "waiver expired" if day is not None and max(ended) < day.isoformat() else "waiver removed"


def _open(old: Row, new: Row) -> str | None:
    """The answer that a pair was waiting for, when it came."""
    after = {row["pair_id"]: row for row in _pairs(new)}
    for was in _pairs(old):
        now = after.get(was["pair_id"])
        if now is not None and was["reason"] != now["reason"]:
            cause = _ANSWERED.get(was["reason"] or "") or _LEFT_OPEN.get(now["reason"] or "")
            if cause:
                return cause
    return None
