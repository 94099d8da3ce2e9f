"""PubMed: notices in MEDLINE records, by PubMed id.

A retracted paper carries `RIN` (retraction in) and the type `Retracted Publication`; concerns are `ECI`, errata `EIN`,
partial retractions `PRIN`, republications `CRI`. A notice carries the reverse (`ROF`, `ECF`, `EFR`). Dates stand in
the citation of the notice, often without the day.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from datetime import date
from functools import partial

import orjson

from verification_pipeline.config import Registers
from verification_pipeline.dois.normalise import find_dois, find_pmids, normalise_pmid
from verification_pipeline.dois.online import Answers, Client, NoAnswer, Record, in_batches, take

REGISTER = "pubmed"

NATURES = {
    "RIN": "Retraction in",
    "PRIN": "Partial retraction in",
    "ECI": "Expression of concern in",
    "EIN": "Erratum in",
    "CRI": "Corrected and republished in",
}
_REVERSE = {"ROF": "Retraction", "ECF": "Expression of concern", "EFR": "Erratum", "PROF": "Partial retraction"}
_TAG = re.compile(r"^([A-Z]{2,4}) *- (.*)$")
_DAY = re.compile(r"\b((?:19|20)\d\d)(?: (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*(?: (\d{1,2}))?)?\b")
_ELECTRONIC = re.compile(r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|1\d|2[0-8])")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_ESTIMATED = "Date of Article and/or Notice Unknown"


async def ask(pmids: Sequence[str], settings: Registers) -> Answers:
    """What PubMed says of each id."""
    answers = Answers()
    async with Client(settings.pubmed_url, settings) as client:
        batches = in_batches(pmids, settings.pubmed_batch)
        await asyncio.gather(*(_batch(client, batch, settings, answers) for batch in batches))
    return answers


async def _batch(client: Client, pmids: Sequence[str], settings: Registers, answers: Answers) -> None:
    params = {"db": "pubmed", "id": ",".join(pmids), "rettype": "medline", "retmode": "text"}
    if settings.mailto:
        params |= {"email": settings.mailto, "tool": "verification-pipeline"}
    try:
        response = await client.get("/efetch.fcgi", params)
    except NoAnswer as error:
        answers.fail(pmids, str(error))
        return
    if response.status_code != 200:
        answers.fail(pmids, f"HTTP {response.status_code}")
        return
    if "PMID- " not in response.text and response.text.lstrip().startswith("<"):
        answers.fail(pmids, "answer is not MEDLINE")
        return
    read = {pmid: fields for fields in medline(response.text) if (pmid := _own_id(fields))}
    for pmid in pmids:
        if pmid not in read:
            answers.outcomes[pmid] = "unknown"
            continue
        take(pmid, partial(records_of, pmid, read[pmid]), answers)


def medline(text: str) -> Iterator[list[tuple[str, str]]]:
    """The records of a MEDLINE text: (tag, value) in order, continued lines joined."""
    fields: list[tuple[str, str]] = []
    for line in text.splitlines():
        tagged = _TAG.match(line)
        if tagged and tagged[1] == "PMID" and fields:
            yield fields
            fields = []
        if tagged:
            fields.append((tagged[1], tagged[2].strip()))
        elif line.startswith("      ") and fields:
            tag, value = fields[-1]
            fields[-1] = (tag, f"{value} {line.strip()}")
    if fields:
        yield fields


def records_of(pmid: str, fields: Sequence[tuple[str, str]]) -> list[Record]:
    """The notices that a record carries: about this paper, and of this record about others."""
    doi = next(
        (
            found[0].doi
            for tag, value in fields
            if tag in ("AID", "LID") and "[doi]" in value and (found := find_dois(value))
        ),
        None,
    )
    work_date = next((day for tag, value in fields if tag == "DP" and (day := _date(value)[0])), None)
    records = [_record(pmid, doi, NATURES[tag], value, work_date) for tag, value in fields if tag in NATURES]
    types = {value for tag, value in fields if tag == "PT"}
    if "Retracted Publication" in types and not any(record["nature"] == NATURES["RIN"] for record in records):
        records.append(
            {"doi": doi, "pmid": pmid, "nature": "Retracted Publication", "work_date": work_date, "raw": "{}"}
        )
    published, whole = _published(fields)
    for tag, value in fields:
        if tag in _REVERSE:
            about, other = _identifiers(value)
            records.append(
                {"doi": about, "pmid": other, "nature": _REVERSE[tag], "notice_doi": doi, "notice_pmid": pmid}
                | {"notice_date": published, "reason": None if whole else _ESTIMATED, "raw": _json(tag, value)}
            )
    return [record for record in records if record.get("doi") or record.get("pmid")]


def _record(pmid: str, doi: str | None, nature: str, value: str, work_date: date | None) -> Record:
    notice_doi, notice_pmid = _identifiers(value)
    day, whole = _date(value)
    return {
        "doi": doi,
        "pmid": pmid,
        "work_date": work_date,
        "nature": nature,
        "notice_date": day,
        "notice_doi": notice_doi,
        "notice_pmid": notice_pmid,
        "reason": None if whole else _ESTIMATED,
        "raw": _json(nature, value),
    }


def _published(fields: Sequence[tuple[str, str]]) -> tuple[date | None, bool]:
    """The day a record itself was published, and whether it states one: its citation, electronic date, or DP."""
    stated = [_date(value) for name in ("SO", "DP") for tag, value in fields if tag == name]
    electronic = [
        (date(int(value[:4]), int(value[4:6]), int(value[6:8])), True)
        for tag, value in fields
        if tag == "DEP" and _ELECTRONIC.fullmatch(value)
    ]
    dated = [one for one in (*stated[:1], *electronic, *stated[1:]) if one[0] is not None]
    return next((one for one in dated if one[1]), dated[0] if dated else (None, False))


def _own_id(fields: Sequence[tuple[str, str]]) -> str | None:
    return next((normalise_pmid(value) for tag, value in fields if tag == "PMID"), None)


def _identifiers(citation: str) -> tuple[str | None, str | None]:
    dois, pmids = find_dois(citation), find_pmids(citation)
    return (dois[0].doi if dois else None, pmids[0].value if pmids else None)


def _date(citation: str) -> tuple[date | None, bool]:
    """The first date of a citation, and whether it states its day."""
    found = _DAY.search(citation)
    if not found:
        return None, False
    month = _MONTHS.index(found[2]) + 1 if found[2] else 1
    try:
        return date(int(found[1]), month, int(found[3] or 1)), found[3] is not None
    except ValueError:
        return date(int(found[1]), month, 1), False


def _json(tag: str, value: str) -> str:
    return orjson.dumps({tag: value}).decode()
