"""Crossref: what its REST API says of a cited DOI.

A cited paper's notices are its `updated-by`; `update-to` says what this record itself updates, and only makes it a
notice. Links are sometimes deposited the wrong way round (row 17 of `precedence`). Batches hide DOIs they do not
know and refuse all for one they cannot read: what was asked is compared with what came back, refused batches are
halved, and a DOI that is missing is asked for by itself and, last, for its agency.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import date
from functools import partial
from typing import Any
from urllib.parse import quote

import orjson

from verification_pipeline.config import Registers
from verification_pipeline.dois.normalise import normalise_doi
from verification_pipeline.dois.online import Answers, Client, NoAnswer, Record, in_batches, take
from verification_pipeline.dois.precedence import REVERSED, is_notice_of, kind_of

REGISTER = "crossref"

_SELECT = "DOI,title,type,updated-by,update-to,relation,issued"
_UNFIT_FOR_BATCH = frozenset(",|?&# ")


async def ask(dois: Sequence[str], settings: Registers) -> Answers:
    """What Crossref says of each DOI (normal form)."""
    answers = Answers()
    alone = [doi for doi in dois if _UNFIT_FOR_BATCH & set(doi)]
    together = [doi for doi in dois if not _UNFIT_FOR_BATCH & set(doi)]
    async with Client(settings.crossref_url, settings) as client:
        batches = in_batches(together, settings.crossref_batch)
        await asyncio.gather(
            *(_batch(client, batch, settings, answers) for batch in batches),
            *(_single(client, doi, settings, answers) for doi in alone),
        )
    return answers


async def _batch(client: Client, dois: Sequence[str], settings: Registers, answers: Answers) -> None:
    if len(dois) == 1:
        await _single(client, dois[0], settings, answers)
        return
    params = {"filter": ",".join(f"doi:{doi}" for doi in dois), "rows": str(len(dois)), "select": _SELECT}
    try:
        status, body = await client.get_json("/works", params | _polite(settings))
        if status == 400:
            middle = len(dois) // 2
            await _batch(client, dois[:middle], settings, answers)
            await _batch(client, dois[middle:], settings, answers)
            return
        items = body["message"]["items"] if status == 200 else None
    except (NoAnswer, KeyError, TypeError) as error:
        answers.fail(dois, str(error) if isinstance(error, NoAnswer) else "answer of another shape")
        return
    if not isinstance(items, list):
        answers.fail(dois, f"HTTP {status}")
        return
    returned = {normalise_doi(str(item.get("DOI"))): item for item in items if isinstance(item, dict)}
    missing = []
    for doi in dois:
        if doi in returned:
            take(doi, partial(records_of, doi, returned[doi]), answers)
        else:
            missing.append(doi)
    await asyncio.gather(*(_single(client, doi, settings, answers) for doi in missing))


async def _single(client: Client, doi: str, settings: Registers, answers: Answers) -> None:
    path = f"/works/{quote(doi, safe='')}"
    try:
        status, body = await client.get_json(path, _polite(settings))
        if status == 200:
            take(doi, partial(records_of, doi, body["message"]), answers)
        elif status in (400, 404):
            answers.outcomes[doi] = await _agency(client, path, settings)
        else:
            answers.fail([doi], f"HTTP {status}")
    except NoAnswer as error:
        answers.fail([doi], str(error))
    except (KeyError, TypeError, AttributeError):
        answers.fail([doi], "answer of another shape")


async def _agency(client: Client, path: str, settings: Registers) -> str:
    """The outcome for a DOI that Crossref does not hold: another agency's, or nobody's (row 20)."""
    status, body = await client.get_json(f"{path}/agency", _polite(settings))
    if status in (400, 404):
        return "unknown"
    if status != 200:
        raise NoAnswer(f"HTTP {status}")
    agency = str(body["message"]["agency"]["id"])
    return f"unknown:{agency}" if agency != "crossref" else "failed:registered, but no record"


def _polite(settings: Registers) -> dict[str, str]:
    return {"mailto": settings.mailto} if settings.mailto else {}


def records_of(doi: str, item: dict[str, Any]) -> list[Record]:
    """The notices that a Crossref record carries: about this DOI, and of this DOI about others.

    Only a publisher's date is held against the paper's own: `issued` may be a print date, after the notice.
    """
    updated_by, update_to = _entries(item, "updated-by"), _entries(item, "update-to")
    work_date = _day(item.get("issued"))
    reverse = {(kind_of(str(entry.get("type"))), entry["DOI"]): entry for entry in update_to}
    records = []
    for entry in updated_by:
        twin = reverse.get((kind_of(str(entry.get("type"))), entry["DOI"]))
        reversed_link = twin is not None and _by_watch(twin) and not _by_watch(entry)
        record = _record(doi, entry["DOI"], entry, None if _by_watch(entry) else work_date)
        records.append(record | {"reason": REVERSED} if reversed_link else record)
    standing = {record["notice_doi"] for record in records if record.get("reason") != REVERSED}
    for entry in update_to:
        other = entry["DOI"]
        if other != doi and other not in standing and is_notice_of(str(entry.get("type"))):
            records.append(_record(other, doi, entry, None))
    title = " ".join(map(str, item.get("title") or ())).strip()
    if title.casefold().startswith(("retracted:", "retracted article:", "withdrawn:")):
        records.append({"doi": doi, "nature": "title prefix", "witness": "publisher", "raw": _json({"title": title})})
    return records


def _record(about: str, notice: str, entry: dict[str, Any], work_date: date | None) -> Record:
    return {
        "record": str(entry["record-id"]) if entry.get("record-id") else None,
        "doi": about,
        "work_date": work_date,
        "witness": str(entry.get("source") or "publisher"),
        "nature": str(entry.get("type") or "unknown"),
        "notice_date": _day(entry.get("updated")),
        "notice_doi": notice,
        "raw": _json(entry),
    }


def _entries(item: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The entries of a field, with their DOI in normal form; entries without one are left out."""
    listed = item.get(name)
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    named = [(entry, normalise_doi(str(entry.get("DOI")))) for entry in entries]
    return [entry | {"DOI": doi} for entry, doi in named if doi]


def _by_watch(entry: dict[str, Any]) -> bool:
    return entry.get("source") == "retraction-watch"


def _day(dated: object) -> date | None:
    """The day of `date-parts`; the first day of a month or year that is all it states."""
    parts = dated.get("date-parts") if isinstance(dated, dict) else None
    if (
        not parts
        or not isinstance(parts[0], list)
        or not parts[0]
        or not all(isinstance(part, int) for part in parts[0])
    ):
        return None
    try:
        return date(*(parts[0] + [1, 1])[:3])
    except ValueError:
        return None


def _json(value: dict[str, Any]) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
