"""Online registers over real HTTP: their bodies, their traps, their outages."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.dois import register
from tests.dois.server import Registers as Server
from tests.dois.server import serving
from verification_pipeline import tables
from verification_pipeline.config import Registers
from verification_pipeline.dois.sweep import Stored, SweepResult, run

CLOCK = datetime(2026, 1, 10, 2, tzinfo=UTC)
PAPER = "10.5555/paper.1"


def entry(
    doi: str, kind: str = "retraction", source: str = "publisher", day: tuple[int, ...] = (2020, 6, 1)
) -> dict[str, Any]:
    return {"DOI": doi, "type": kind, "label": kind, "source": source, "updated": {"date-parts": [list(day)]}}


def item(doi: str, *updated_by: dict[str, Any], **fields: Any) -> dict[str, Any]:
    made = {"DOI": doi, "title": ["On tides"], "type": "journal-article", "issued": {"date-parts": [[2015, 1]]}}
    return made | ({"updated-by": list(updated_by)} if updated_by else {}) | fields


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(Server()) as running:
        yield running


def settings(server: Server, **more: Any) -> Registers:
    told = {
        "crossref": True,
        "crossref_url": f"{server.url}/crossref",
        "pubmed_url": f"{server.url}/pubmed",
        "openalex_url": f"{server.url}/openalex",
        "canaries": (),
        "attempts": 3,
        "backoff_seconds": 0.01,
        "timeout_seconds": 2,
    }
    return Registers.model_validate(told | more)


def swept(works: pl.DataFrame, told: Registers, stored: Stored | None = None, clock: datetime = CLOCK) -> SweepResult:
    result = run(works, stored or Stored.nothing(), told, clock.date(), clock, clock)
    for name in ("lookups", "notices", "statuses"):
        tables.check(f"doi_{name}", getattr(result, name), "test")
    return result


def by_doi(result: SweepResult) -> dict[str, dict[str, Any]]:
    return {row["doi"]: row for row in result.statuses.filter(pl.col("valid_to").is_null()).to_dicts()}


def test_crossref_reads_updated_by_in_batches(server: Server) -> None:
    server.crossref[PAPER] = item(PAPER, entry("10.5555/n.1"))
    server.crossref |= {f"10.5555/p.{n}": item(f"10.5555/p.{n}") for n in range(59)}
    result = swept(register.works(*server.crossref), settings(server, mailto="desk@example.org", crossref_batch=25))
    found = by_doi(result)
    assert (found[PAPER]["status"], found[PAPER]["date"]) == ("retracted", date(2020, 6, 1))
    assert found["10.5555/p.7"]["status"] == "ok"
    assert found["10.5555/p.7"]["registers"] == ["crossref"]
    assert result.lookups["outcome"].value_counts().sort("outcome").rows() == [("clean", 59), ("found", 1)]
    assert len(server.log) == 3
    assert all("mailto=desk%40example.org" in line and "select=" in line for line in server.log)


def test_malformed_comma_missing_and_foreign_dois(server: Server) -> None:
    good = [f"10.5555/p.{n}" for n in range(6)]
    serial, comma, foreign, nobody = (
        "10.1002/x(1999)1:1<15::a>3.0.co;2-1",
        "10.5555/a,b",
        "10.5555/data.1",
        "10.5555/none",
    )
    server.crossref = {doi: item(doi) for doi in (*good, serial)} | {comma: item(comma, entry("10.5555/n.1"))}
    server.agencies = {foreign: "datacite"}
    result = swept(register.works(*good, serial, comma, foreign, nobody), settings(server))
    found = by_doi(result)
    assert {found[doi]["status"] for doi in (*good, serial)} == {"ok"}
    assert found[comma]["status"] == "retracted"
    assert (found[nobody]["status"], found[nobody]["reason"]) == ("unavailable", "unknown to crossref")
    assert found[foreign]["status"] == "unavailable"
    outcomes = dict(result.lookups.select("work_id", "outcome").iter_rows())
    assert outcomes[f"doi:{foreign}"] == "unknown:datacite"
    assert outcomes[f"doi:{nobody}"] == "unknown"


def test_row_20_for_another_agencys_doi_retraction_watch_decides(server: Server, tmp_path: Path) -> None:
    foreign, retracted = "10.5555/data.1", "10.5555/data.2"
    server.agencies = {foreign: "datacite", retracted: "datacite"}
    path = register.write(tmp_path / "rw.csv", [{"OriginalPaperDOI": retracted}])
    found = by_doi(swept(register.works(foreign, retracted), settings(server, retraction_watch=path)))
    assert (found[foreign]["status"], found[foreign]["registers"]) == ("ok", ["retraction-watch"])
    assert found[retracted]["status"] == "retracted"


def test_reversed_links_flag_the_notice_and_not_a_paper(server: Server) -> None:
    notice = "10.5555/n.1"
    watch = entry(PAPER, source="retraction-watch", day=(2020, 6, 5)) | {"record-id": "1"}
    server.crossref = {
        PAPER: item(
            PAPER,
            entry(notice, source="retraction-watch", day=(2020, 6, 5)),
            **{"update-to": [entry(notice, day=(2020, 5, 22))]},
        ),
        notice: item(notice, entry(PAPER, day=(2020, 5, 22)), **{"update-to": [watch]}),
    }
    found = by_doi(swept(register.works(PAPER, notice), settings(server)))
    assert (found[PAPER]["status"], found[PAPER]["date"], found[PAPER]["flags"]) == ("retracted", date(2020, 6, 5), [])
    assert (found[notice]["status"], found[notice]["flags"]) == ("ok", ["is_notice"])


def test_a_title_prefix_at_crossref_is_weak_evidence(server: Server) -> None:
    server.crossref[PAPER] = item(PAPER, title=["RETRACTED: On tides"])
    found = by_doi(swept(register.works(PAPER), settings(server)))
    assert (found[PAPER]["status"], found[PAPER]["flags"], found[PAPER]["date"]) == ("retracted", ["title_only"], None)


@pytest.mark.parametrize("faults", [[429], [503, 504], [500]])
def test_passing_faults_are_tried_again(server: Server, faults: list[int | str]) -> None:
    server.crossref[PAPER] = item(PAPER, entry("10.5555/n.1"))
    server.faults["/crossref"] = faults
    result = swept(register.works(PAPER, "10.5555/none"), settings(server))
    assert by_doi(result)[PAPER]["status"] == "retracted"
    assert not result.outages


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (429, "HTTP 429"),
        (503, "HTTP 503"),
        ("html", "answer is not JSON"),
        ("hang", "no answer in time"),
        (403, "HTTP 403"),
    ],
)
def test_a_lasting_fault_is_a_named_outage_and_never_ok(server: Server, fault: int | str, reason: str) -> None:
    server.crossref[PAPER] = item(PAPER)
    server.faults["/crossref"] = ["always", fault]
    result = swept(register.works(PAPER, "10.5555/other"), settings(server, timeout_seconds=0.2, attempts=2))
    assert [outage.register for outage in result.outages] == ["crossref"]
    assert reason in result.outages[0].reason
    for row in by_doi(result).values():
        assert row["status"] == "unavailable"
        assert reason in row["reason"]
    assert all(outcome == f"failed:{reason}" for outcome in result.lookups["outcome"])


def test_a_server_that_is_down_is_not_asked_a_thousand_times(server: Server) -> None:
    server.faults["/crossref"] = ["always", 503]
    works = register.works(*(f"10.5555/p.{n}" for n in range(1_000)))
    result = swept(works, settings(server, crossref_batch=5, attempts=2, failures_until_down=3, concurrency=2))
    assert len(server.log) < 20
    assert result.lookups.height == 1_000


def test_no_connection_is_an_outage() -> None:
    told = Registers(crossref=True, crossref_url="http://127.0.0.1:9", attempts=1, canaries=())
    result = swept(register.works(PAPER), told)
    assert "no connection" in result.outages[0].reason


def test_an_answer_of_another_shape_is_a_failure(server: Server) -> None:
    server.crossref[PAPER] = {"DOI": PAPER, "updated-by": "soon"}
    server.crossref["10.5555/odd"] = ["not", "an", "object"]  # type: ignore[assignment]
    result = swept(register.works(PAPER, "10.5555/odd"), settings(server))
    assert by_doi(result)[PAPER]["status"] == "ok"
    assert by_doi(result)["10.5555/odd"]["status"] == "unavailable"


def test_an_outage_tonight_keeps_the_answer_of_last_night(server: Server) -> None:
    server.crossref[PAPER] = item(PAPER, entry("10.5555/n.1"))
    server.crossref["10.5555/other"] = item("10.5555/other")
    works = register.works(PAPER, "10.5555/other")
    first = swept(works, settings(server))
    server.faults["/crossref"] = ["always", 503]
    later = swept(
        works,
        settings(server, attempts=1),
        Stored(first.lookups, first.notices, first.statuses),
        CLOCK + timedelta(days=1),
    )
    found = by_doi(later)
    assert (found[PAPER]["status"], found[PAPER]["stale"]) == ("retracted", True)
    assert (found["10.5555/other"]["status"], found["10.5555/other"]["stale"]) == ("ok", True)


def test_a_resumed_night_asks_nothing_twice(server: Server) -> None:
    server.crossref[PAPER] = item(PAPER, entry("10.5555/n.1"))
    first = swept(register.works(PAPER), settings(server))
    asked = len(server.log)
    again = swept(
        register.works(PAPER),
        settings(server),
        Stored(first.lookups, first.notices, first.statuses),
        CLOCK + timedelta(hours=1),
    )
    assert len(server.log) == asked
    assert again.statuses.equals(first.statuses)
    assert again.notices.equals(first.notices)


def test_a_notice_that_crossref_drops_closes(server: Server) -> None:
    server.crossref[PAPER] = item(PAPER, entry("10.5555/n.1"))
    first = swept(register.works(PAPER), settings(server))
    server.crossref[PAPER] = item(PAPER)
    later = swept(
        register.works(PAPER),
        settings(server),
        Stored(first.lookups, first.notices, first.statuses),
        CLOCK + timedelta(days=1),
    )
    assert by_doi(later)[PAPER]["status"] == "ok"
    assert later.notices["observed_until"].null_count() == 0


def test_a_register_that_forgot_its_canary_is_down(server: Server) -> None:
    server.crossref[PAPER] = item(PAPER)
    server.crossref["10.5555/canary"] = item("10.5555/canary")
    result = swept(register.works(PAPER), settings(server, canaries=("10.5555/canary",)))
    assert "canary not retracted: 10.5555/canary" in result.outages[0].reason
    assert by_doi(result)[PAPER]["status"] == "unavailable"
    server.crossref["10.5555/canary"] = item("10.5555/canary", entry("10.5555/n.9"))
    result = swept(register.works(PAPER), settings(server, canaries=("10.5555/canary",)))
    assert not result.outages
    assert by_doi(result)[PAPER]["status"] == "ok"


def test_requests_in_flight_are_bounded_and_paced_by_the_headers(server: Server) -> None:
    server.headers = {"x-rate-limit-limit": "50", "x-rate-limit-interval": "1s", "x-concurrency-limit": "3"}
    server.crossref = {f"10.5555/p.{n}": item(f"10.5555/p.{n}") for n in range(40)}
    started = time.monotonic()
    swept(register.works(*server.crossref), settings(server, crossref_batch=1, concurrency=16))
    assert server.most_in_flight <= 3
    assert len(server.log) == 40
    assert time.monotonic() - started > 39 / 50


def test_without_headers_the_configured_number_is_in_flight(server: Server) -> None:
    server.crossref = {f"10.5555/p.{n}": item(f"10.5555/p.{n}") for n in range(60)}
    swept(register.works(*server.crossref), settings(server, crossref_batch=1, concurrency=5))
    assert 1 < server.most_in_flight <= 5
    assert len(server.log) == 60


MEDLINE = """PMID- 77
DP  - 2015 Jan 3
TI  - On tides.
PT  - Journal Article
PT  - Retracted Publication
RIN - J Tides. 2020 Jun 1;3(2):1-2. doi:
      10.5555/n.1. PMID: 78
AID - 10.5555/paper.1 [doi]
"""
CONCERN = """PMID- 80
DP  - 2016
ECI - J Tides. 2021 Nov;4(1):9. doi: 10.5555/n.2. PMID: 81
AID - 10.5555/paper.2 [doi]
"""


def test_pubmed_answers_by_id(server: Server) -> None:
    server.medline = {"77": MEDLINE, "80": CONCERN, "82": "PMID- 82\nTI  - Clean.\n"}
    works = pl.concat([register.works(None, work_id=f"pmid:{pmid}", pmid=pmid) for pmid in ("77", "80", "82", "99")])
    result = swept(works, settings(server, crossref=False, pubmed=True))
    found = {row["work_id"]: row for row in result.statuses.to_dicts()}
    assert (found["pmid:77"]["status"], found["pmid:77"]["date"]) == ("retracted", date(2020, 6, 1))
    assert found["pmid:77"]["notice_url"] == "https://doi.org/10.5555%2Fn.1"
    assert (found["pmid:80"]["status"], found["pmid:80"]["date"]) == ("expression-of-concern", date(2021, 11, 1))
    assert found["pmid:80"]["flags"] == ["estimated"]
    assert found["pmid:82"]["status"] == "ok"
    assert found["pmid:99"]["status"] == "unavailable"


def test_openalex_alone_proves_nothing_and_pubmed_confirms_it(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENALEX_API_KEY", "k")
    flagged = {
        "doi": f"https://doi.org/{PAPER}",
        "is_retracted": True,
        "ids": {"pmid": "https://pubmed.ncbi.nlm.nih.gov/77"},
    }
    lone = {"doi": "https://doi.org/10.5555/lone", "is_retracted": True, "ids": {}}
    fine = {"doi": "https://doi.org/10.5555/fine", "is_retracted": False, "ids": {}}
    server.openalex = {
        PAPER: flagged,
        "10.5555/lone": lone,
        "10.5555/fine": fine,
        "10.5555/a,b": fine | {"doi": "10.5555/a,b"},
    }
    server.crossref = {doi: item(doi) for doi in server.openalex}
    server.medline = {"77": MEDLINE}
    works = register.works(*server.openalex)
    alone = by_doi(swept(works, settings(server, openalex=True)))
    assert (alone[PAPER]["status"], alone[PAPER]["flags"]) == ("unavailable", ["unconfirmed_flag"])
    assert alone["10.5555/fine"]["status"] == alone["10.5555/a,b"]["status"] == "ok"
    both = by_doi(swept(works, settings(server, openalex=True, pubmed=True)))
    assert (both[PAPER]["status"], both[PAPER]["date"]) == ("retracted", date(2020, 6, 1))
    assert "crossref: ok" in both[PAPER]["disagreement"]
    assert both["10.5555/lone"]["flags"] == ["unconfirmed_flag"]


def test_openalex_without_a_key_is_an_outage(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENALEX_API_KEY", raising=False)
    result = swept(register.works(PAPER), settings(server, crossref=False, openalex=True))
    assert "no key in OPENALEX_API_KEY" in result.outages[0].reason
    assert not server.log


def test_a_preprints_version_is_asked_for_with_its_base(server: Server) -> None:
    base = "10.1101/2020.01.01.900001"
    server.crossref[base] = item(base, entry("10.5555/n.1"))
    result = swept(register.works(f"{base}v2"), settings(server))
    assert by_doi(result)[f"{base}v2"]["status"] == "retracted"
    assert result.lookups["outcome"].item() == "found"


CONCERN_WORD = "expression-of-concern"
GOLDEN = {
    "10.1016/s0140-6736(97)11096-0": ("retracted", date(2010, 2, 6), "10.1016%2Fs0140-6736%2810%2960175-4", set()),
    "10.1016/s0140-6736(10)60175-4": ("ok", None, None, {"is_notice"}),
    "10.1016/s0140-6736(20)31180-6": ("retracted", date(2020, 6, 5), "10.1016%2Fs0140-6736%2820%2931324-6", set()),
    "10.1016/s0140-6736(20)31324-6": ("ok", None, None, {"is_notice"}),
    "10.1056/nejmoa2007621": ("retracted", date(2020, 6, 4), "10.1056%2Fnejmc2021225", set()),
    "10.29328/journal.jcmhs.1001023": (
        "retracted", date(2022, 12, 1), "10.29328%2Fjournal.jcmhs.1001023", {"partial", "suspect", "self_notice"},
    ),
    "10.1371/journal.pone.0064723": (CONCERN_WORD, date(2021, 10, 28), "10.1371%2Fjournal.pone.0256488", set()),
    "10.1016/j.ejogrb.2014.02.038": (CONCERN_WORD, date(2024, 6, 27), "10.1016%2Fj.ejogrb.2024.06.039", set()),
    "10.1002/14651858.cd008900.pub3": ("ok", None, None, set()),
    "10.1002/sm2.65": ("ok", None, None, set()),
    "10.1023/a:1025493705728": ("ok", None, None, set()),
    "10.1038/s41586-020-2649-2": ("ok", None, None, set()),
}  # fmt: skip


@pytest.mark.acceptance
def test_the_golden_table_from_real_bodies(server: Server, shared: Path) -> None:
    for path in sorted((shared / "retractions" / "fixtures" / "crossref").glob("*.json")):
        body = json.loads(path.read_text("utf-8"))
        message = body.get("message", body)
        doi = message["DOI"].lower()
        if len(message.get("updated-by", ())) >= len(server.crossref.get(doi, {}).get("updated-by", ())):
            server.crossref[doi] = message
    assert set(GOLDEN) <= set(server.crossref)
    told = settings(server, canaries=("10.1016/s0140-6736(97)11096-0",))
    result = swept(register.works(*GOLDEN), told, clock=datetime(2026, 11, 1, tzinfo=UTC))
    assert not result.outages
    found = by_doi(result)
    for doi, (status, day, notice, flags) in GOLDEN.items():
        assert (found[doi]["status"], found[doi]["date"]) == (status, day), found[doi]
        assert found[doi]["notice_url"] == (f"https://doi.org/{notice}" if notice else None), doi
        assert set(found[doi]["flags"]) == flags, doi


@pytest.mark.acceptance
def test_real_medline_and_openalex_bodies(server: Server, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENALEX_API_KEY", "k")
    fixtures = shared / "retractions" / "fixtures"
    for path in (fixtures / "pubmed").glob("*.txt"):
        text = path.read_text("utf-8")
        server.medline[text.split("PMID- ", 1)[1].split()[0]] = text
    works = pl.concat([register.works(None, work_id=f"pmid:{pmid}", pmid=pmid) for pmid in server.medline])
    found = {
        row["work_id"]: row for row in swept(works, settings(server, crossref=False, pubmed=True)).statuses.to_dicts()
    }
    assert found["pmid:9500320"]["status"] == "retracted"
    assert (found["pmid:20137807"]["status"], found["pmid:20137807"]["flags"]) == ("ok", ["is_notice"])
    assert (found["pmid:10475862"]["status"], found["pmid:10475862"]["date"]) == (
        "expression-of-concern",
        date(2019, 2, 5),
    )
    assert (found["pmid:23741377"]["status"], found["pmid:23741377"]["date"]) == (
        "expression-of-concern",
        date(2021, 10, 28),
    )
    assert (found["pmid:36736314"]["status"], found["pmid:36736314"]["date"]) == ("retracted", date(2023, 5, 3))
    for path in (fixtures / "openalex").glob("*.json"):
        body = json.loads(path.read_text("utf-8"))
        doi = body["doi"].removeprefix("https://doi.org/")
        server.openalex[doi] = body
        flagged = by_doi(swept(register.works(doi), settings(server, crossref=False, openalex=True, pubmed=True)))
        assert flagged[doi]["status"] == "retracted"


@pytest.mark.acceptance
def test_all_registers_together_agree_with_the_golden_table(
    server: Server, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENALEX_API_KEY", "k")
    fixtures = shared / "retractions" / "fixtures"
    for path in sorted((fixtures / "crossref").glob("*.json")):
        body = json.loads(path.read_text("utf-8"))
        server.crossref[body.get("message", body)["DOI"].lower()] = body.get("message", body)
    for path in (fixtures / "pubmed").glob("*.txt"):
        text = path.read_text("utf-8")
        server.medline[text.split("PMID- ", 1)[1].split()[0]] = text
    for path in (fixtures / "openalex").glob("*.json"):
        body = json.loads(path.read_text("utf-8"))
        server.openalex[body["doi"].removeprefix("https://doi.org/")] = body
    rows = shared / "retractions" / "retraction_watch_rows.csv"
    told = settings(server, retraction_watch=rows, pubmed=True, openalex=True)
    found = by_doi(swept(register.works(*GOLDEN), told, clock=datetime(2026, 11, 1, tzinfo=UTC)))
    for doi, (status, day, notice, _) in GOLDEN.items():
        assert (found[doi]["status"], found[doi]["date"]) == (status, day), found[doi]
        assert found[doi]["notice_url"] == (f"https://doi.org/{notice}" if notice else None), doi
    wakefield = found["10.1016/s0140-6736(97)11096-0"]
    assert wakefield["registers"] == ["retraction-watch", "crossref", "pubmed", "openalex"]
    assert wakefield["disagreement"] is None
    assert "retraction-watch: ok" in found["10.1056/nejmoa2007621"]["disagreement"]
