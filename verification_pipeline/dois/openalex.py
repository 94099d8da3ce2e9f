"""OpenAlex: its `is_retracted` flag, by DOI. A tripwire: it has no type, date or notice, and flags notices too.

What the flag is worth beside the other registers is in `precedence` (row 18).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

import orjson

from verification_pipeline.config import Registers
from verification_pipeline.dois.normalise import normalise_doi, normalise_pmid
from verification_pipeline.dois.online import Answers, Client, NoAnswer, Record, in_batches, take

REGISTER = "openalex"

_SELECT = "id,doi,display_name,is_retracted,ids"
_UNFIT_FOR_BATCH = frozenset(",|")


async def ask(dois: Sequence[str], settings: Registers) -> Answers:
    """What OpenAlex says of each DOI. Without a key nothing is asked: every question fails by name."""
    answers = Answers()
    key = os.environ.get(settings.openalex_key_env, "")
    if not key:
        answers.fail(dois, f"no key in {settings.openalex_key_env}")
        return answers
    alone = [doi for doi in dois if _UNFIT_FOR_BATCH & set(doi)]
    together = [doi for doi in dois if not _UNFIT_FOR_BATCH & set(doi)]
    common = {"select": _SELECT, "api_key": key} | ({"mailto": settings.mailto} if settings.mailto else {})
    async with Client(settings.openalex_url, settings) as client:
        await asyncio.gather(
            *(_batch(client, batch, common, answers) for batch in in_batches(together, settings.openalex_batch)),
            *(_single(client, doi, common, answers) for doi in alone),
        )
    return answers


async def _batch(client: Client, dois: Sequence[str], common: dict[str, str], answers: Answers) -> None:
    params = {"filter": f"doi:{'|'.join(dois)}", "per-page": str(len(dois))} | common
    try:
        status, body = await client.get_json("/works", params)
        if status != 200:
            answers.fail(dois, f"HTTP {status}")
            return
        returned = {normalise_doi(str(item.get("doi"))): item for item in body["results"]}
    except NoAnswer as error:
        answers.fail(dois, str(error))
        return
    except (KeyError, TypeError, AttributeError):
        answers.fail(dois, "answer of another shape")
        return
    for doi in dois:
        _take(doi, returned.get(doi), answers)


async def _single(client: Client, doi: str, common: dict[str, str], answers: Answers) -> None:
    try:
        status, body = await client.get_json(f"/works/doi:{quote(doi, safe='')}", common)
    except NoAnswer as error:
        answers.fail([doi], str(error))
        return
    if status == 404:
        _take(doi, None, answers)
    elif status == 200 and isinstance(body, dict):
        _take(doi, body, answers)
    else:
        answers.fail([doi], f"HTTP {status}")


def _take(doi: str, item: dict[str, Any] | None, answers: Answers) -> None:
    if item is None:
        answers.outcomes[doi] = "unknown:not indexed"
        return
    take(doi, partial(records_of, doi, item), answers)


def records_of(doi: str, item: dict[str, Any]) -> list[Record]:
    """One record if the work is flagged, none otherwise."""
    if item.get("is_retracted") is not True:
        return []
    pmid = normalise_pmid(str((item.get("ids") or {}).get("pmid") or ""))
    kept = {name: item.get(name) for name in ("id", "doi", "is_retracted")}
    return [{"doi": doi, "pmid": pmid, "nature": "is_retracted", "raw": orjson.dumps(kept).decode()}]
