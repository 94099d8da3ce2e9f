"""From the notices of one work to its status: the precedence table, row by row.

    order of evidence: Retraction Watch (its file, or passed on by Crossref) > Crossref publisher > PubMed >
                       the work's own title or comment > OpenAlex alone

     1 live retraction, removal, partial retraction, withdrawal (not Cochrane's)   retracted   partial, temporary
     2 concern or correction, then retraction                                      retracted, day of the retraction
     3 retraction, then correction                                                 retracted
     4 retraction, then reinstatement                                              ok          reinstated
     5 reinstatement alone                                                         ok          reinstated
     6 reinstatement, then retraction / concern                                    retracted / expression-of-concern
     7 retraction or reinstatement undated (or of the same day)                    retracted   review
     8 concern `Updated to Correction`, then correction                            corrected
     9 concern and correction without that link                                    expression-of-concern
    10 concern                                                                     expression-of-concern
    11 correction, corrigendum, erratum, addendum, clarification                   corrected
    12 new version, new edition, publisher's note                                  ok          newer_version, ...
    13 a type we do not know                                                       ok          unclassified_notice
    14 retract and replace                                Retraction Watch decides: ok or retracted, replaced
    15 Cochrane's withdrawal of an outdated review                                 corrected   superseded
    16 the work is itself a notice                                                 ok          is_notice
    17 a Crossref link that only Retraction Watch's reverse explains               no notice (`reversed` reason)
    18 OpenAlex's flag alone                                                       unavailable unconfirmed_flag
    19, 20 a register that failed, or does not know the work                       in `statuses`
    21 only the work's title or comment says so                                    retracted   title_only, withdrawn

A status holds since the earliest notice that carries it. Pure and dated by nothing but its arguments: `statuses`
chooses the notices in force on a day. Nothing here asks a register.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

OK = "ok"
RETRACTED = "retracted"
CONCERN = "expression-of-concern"
CORRECTED = "corrected"
UNAVAILABLE = "unavailable"

REVERSED = "reversed link: the other record is the notice"
"""Reason of a Crossref entry that row 17 sets aside; the notice stays a row."""

_KINDS = {
    "retraction": "retraction",
    "retration": "retraction",
    "retractionin": "retraction",
    "retractedpublication": "retraction",
    "partialretraction": "partial",
    "partialretractionin": "partial",
    "removal": "removal",
    "withdrawal": "withdrawal",
    "expressionofconcern": "concern",
    "expressionofconcernin": "concern",
    "correction": "correction",
    "corrigendum": "correction",
    "erratum": "correction",
    "erratumin": "correction",
    "err": "correction",
    "correctedarticle": "correction",
    "addendum": "correction",
    "clarification": "correction",
    "reinstatement": "reinstatement",
    "newversion": "newer_version",
    "newedition": "newer_edition",
    "publishernote": "publisher_note",
    "correctedandrepublishedin": "correction",
    "isretracted": "flag",
    "titleprefix": "title",
}
_RETRACTING = frozenset({"retraction", "partial", "removal", "withdrawal"})
_NEWER = frozenset({"newer_version", "newer_edition", "publisher_note"})
_RANK = {
    ("retraction-watch", ""): 0,
    ("crossref", "retraction-watch"): 1,
    ("crossref", "publisher"): 2,
    ("crossref", ""): 2,
    ("pubmed", ""): 3,
    ("openalex", ""): 5,
}
_COCHRANE = "10.1002/14651858."
_OUTDATED = frozenset({"withdrawn as out of date", "retract and replace"})


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice about one work, as far as its status depends on it.

    `since`: the day from which it is in force (None: undated, in force all along); `date`: the day it states.
    """

    register: str
    nature: str
    date: dt.date | None = None
    since: dt.date | None = None
    notice_doi: str | None = None
    notice_url: str | None = None
    reasons: frozenset[str] = frozenset()
    work_date: dt.date | None = None
    witness: str = ""
    key: str = ""

    @property
    def kind(self) -> str:
        """What sort of notice it is, whatever the register calls it."""
        return kind_of(self.nature)

    @property
    def rank(self) -> int:
        """Its place in the order of evidence; 0 is the strongest."""
        return _RANK.get((self.register, self.witness), 4)


@dataclass(frozen=True, slots=True)
class Decision:
    """The status of a work and what it rests on."""

    status: str
    date: dt.date | None = None
    notice_url: str | None = None
    flags: tuple[str, ...] = ()
    disagreement: str | None = None
    reason: str | None = None


@lru_cache(maxsize=1024)
def kind_of(nature: str) -> str:
    """The kind behind a register's word: case, `-`, `_` and spaces do not matter; `unknown` for a new word."""
    return _KINDS.get(re.sub(r"[^a-z]", "", nature.casefold()), "unknown")


def is_notice_of(nature: str) -> bool:
    """Whether a record that updates another one in this way is a notice about it (a new version is not)."""
    return kind_of(nature) in _RETRACTING | {"concern", "correction", "reinstatement"}


def reconciled(notices: Iterable[Notice]) -> list[Notice]:
    """One row a notice: where registers name the same notice, or date the same event, the stronger one is kept.

    Applied to all notices of a work before any is left out as not yet in force, so that a publisher's wrong date
    never makes a work retracted before Retraction Watch's.
    """
    kept: list[Notice] = []
    strongest: dict[str, Notice] = {}
    for notice in sorted(notices, key=_order):
        if REVERSED in notice.reasons:
            continue
        family = "retraction" if notice.kind in _RETRACTING else notice.kind
        better = strongest.get(family)
        same_register = better is None or better.rank == notice.rank
        reinstated = [one for one in kept if one.kind == "reinstatement" and one.since]
        after = notice.since is not None and any(one.since and notice.since > one.since for one in reinstated)
        if notice.notice_doi and any(one.notice_doi == notice.notice_doi and one.rank < notice.rank for one in kept):
            continue
        if not same_register and not after:
            continue
        kept.append(notice)
        strongest.setdefault(family, notice)
    return kept


def decide(
    notices: Sequence[Notice],
    *,
    doi: str | None = None,
    is_notice: bool = False,
    sign: str | None = None,
) -> Decision:
    """The status that these notices, all in force, give a work.

    `is_notice`: the work is itself published as a notice; `sign`: its own title or comment says `retracted` or
    `withdrawn`.
    """
    sign = sign or (RETRACTED if any(one.kind == "title" for one in notices) else None)
    reinstatements = [one for one in notices if one.kind == "reinstatement"]
    retracting = [one for one in notices if one.kind in _RETRACTING and not _superseded(one, notices, doi)]
    outdated = [one for one in notices if one.kind in _RETRACTING and _superseded(one, notices, doi)]
    standing = [one for one in retracting if not _cleared(one, reinstatements)]
    concerns = [one for one in notices if one.kind == "concern" and not _cleared(one, reinstatements)]
    corrections = [one for one in notices if one.kind == "correction" and not _cleared(one, reinstatements)]
    flags = _common_flags(notices, is_notice)
    if standing:
        decision = _decided(RETRACTED, standing, flags | _retraction_flags(standing, reinstatements))
    elif open_concerns := [one for one in concerns if not _settled(one, corrections)]:
        review = {"review"} if any("updated to retraction" in one.reasons for one in open_concerns) else set()
        decision = _decided(CONCERN, open_concerns, flags | review)
    elif outdated:
        decision = _decided(CORRECTED, outdated, flags | {"superseded"})
    elif corrections:
        settling = [one for one in corrections if any(_after(one, concern) for concern in concerns)]
        decision = _decided(CORRECTED, settling or corrections, flags)
    elif reinstatements:
        decision = _decided(OK, reinstatements, flags)
    else:
        return _without_notice(notices, flags, sign)
    if sign and decision.status != RETRACTED:
        flags = {*decision.flags, "review"}
        return replace(decision, flags=tuple(sorted(flags)), disagreement=f"title: {RETRACTED}")
    return decision


def by_register(notices: Sequence[Notice], doi: str | None) -> dict[str, str]:
    """The status that each register alone would give; OpenAlex's flag reads as its claim, `retracted`."""
    registers = sorted({one.register for one in notices})
    alone = {name: decide([one for one in notices if one.register == name], doi=doi).status for name in registers}
    return {name: RETRACTED if status == UNAVAILABLE else status for name, status in alone.items()}


def _without_notice(notices: Sequence[Notice], flags: set[str], sign: str | None) -> Decision:
    if sign:
        extra = {"title_only", "withdrawn"} if sign == "withdrawn" else {"title_only"}
        return Decision(RETRACTED, flags=tuple(sorted(flags | extra)), reason="only its own title or comment says so")
    if any(one.kind == "flag" for one in notices):
        return Decision(
            UNAVAILABLE, flags=tuple(sorted(flags | {"unconfirmed_flag"})), reason="only OpenAlex flags it as retracted"
        )
    return Decision(OK, flags=tuple(sorted(flags)))


def _decided(status: str, carrying: Sequence[Notice], flags: set[str]) -> Decision:
    """The status since the earliest of the notices of the strongest register that carries it."""
    winner = min(carrying, key=_order)
    if winner.date is None:
        flags = flags | {"undated"}
    elif _suspect(winner):
        flags = flags | {"suspect"}
    if "date of article and/or notice unknown" in winner.reasons:
        flags = flags | {"estimated"}
    if "retract and replace" in winner.reasons:
        flags = flags | {"replaced"}
    if "temporary removal" in winner.reasons and status == RETRACTED:
        flags = flags | {"temporary"}
    if doi := winner.notice_doi:
        flags = flags | ({"self_notice"} if winner.key == f"doi:{doi}" else set())
    reason = None if winner.notice_url else "the register names no notice"
    return Decision(status, winner.date, winner.notice_url, tuple(sorted(flags)), None, reason)


def _common_flags(notices: Sequence[Notice], is_notice: bool) -> set[str]:
    flags = {one.kind for one in notices if one.kind in _NEWER}
    if is_notice:
        flags.add("is_notice")
    if any(one.kind == "unknown" for one in notices):
        flags.add("unclassified_notice")
    if any(one.kind == "reinstatement" for one in notices):
        flags.add("reinstated")
    return flags


def _retraction_flags(standing: Sequence[Notice], reinstatements: Sequence[Notice]) -> set[str]:
    flags = set()
    if all(one.kind == "partial" for one in standing):
        flags.add("partial")
    if all(one.kind == "withdrawal" for one in standing):
        flags.add("withdrawn")
    if any(not _ordered(one, other) for one in standing for other in reinstatements):
        flags.add("review")
    return flags


def _cleared(notice: Notice, reinstatements: Sequence[Notice]) -> bool:
    """Rows 4 to 7: only a reinstatement dated after it clears a notice; an undated one clears nothing."""
    return any(_after(one, notice) for one in reinstatements)


def _after(later: Notice, earlier: Notice) -> bool:
    return later.since is not None and earlier.since is not None and later.since > earlier.since


def _ordered(one: Notice, other: Notice) -> bool:
    return one.since is not None and other.since is not None and one.since != other.since


def _settled(concern: Notice, corrections: Sequence[Notice]) -> bool:
    """Row 8: a concern that says so and is followed by a correction is over."""
    return "updated to correction" in concern.reasons and any(
        _after(one, concern) or one.since == concern.since for one in corrections
    )


def _superseded(notice: Notice, notices: Sequence[Notice], doi: str | None) -> bool:
    """Row 15: an outdated Cochrane review, or a withdrawal for no other reason than being out of date."""
    cochrane = (doi or "").startswith(_COCHRANE)
    if notice.register == "retraction-watch":
        only_outdated = bool(notice.reasons) and notice.reasons <= _OUTDATED
        return only_outdated and (cochrane or "withdrawn as out of date" in notice.reasons)
    if notice.kind != "withdrawal" or not cochrane:
        return False
    return all(_superseded(one, (), doi) for one in notices if one.register == "retraction-watch")


def _suspect(notice: Notice) -> bool:
    """A notice dated no later than the work itself, or from before or after it can have been published."""
    if notice.date is None:
        return False
    return notice.date != notice.since or (notice.work_date is not None and notice.date <= notice.work_date)


def _order(notice: Notice) -> tuple[Any, ...]:
    """Strongest register first, whole retractions before partial ones, then the earliest; undated last.

    What follows only makes the order of two notices theirs and not that of the rows.
    """
    evidence = (notice.rank, notice.kind == "partial", notice.since is None, notice.since or dt.date.max)
    names = (
        notice.notice_doi or "",
        notice.nature,
        notice.notice_url or "",
        notice.key,
        notice.register,
        notice.witness,
    )
    return (*evidence, *names, sorted(notice.reasons), notice.date or dt.date.max, notice.work_date or dt.date.max)
