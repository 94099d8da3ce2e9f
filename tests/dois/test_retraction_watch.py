from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.dois import register
from verification_pipeline import tables
from verification_pipeline.config import Registers
from verification_pipeline.dois.normalise import normalise_doi
from verification_pipeline.dois.notices import Outage
from verification_pipeline.dois.retraction_watch import _PLAIN_DOI, Snapshot, read

CLOCK = datetime(2026, 3, 1, tzinfo=UTC)


def snapshot(path: Path, **settings: object) -> Snapshot:
    found = read(path, Registers.model_validate(settings), CLOCK)
    assert isinstance(found, Snapshot), found
    return found


def reason(path: Path, **settings: object) -> str:
    found = read(path, Registers.model_validate(settings), CLOCK)
    assert isinstance(found, Outage)
    assert found.register == "retraction-watch"
    return found.reason


def test_a_row_in_normal_form(tmp_path: Path) -> None:
    rows = [
        {
            "OriginalPaperDOI": "10.5555/ABC(97)1-0",
            "OriginalPaperPubMedID": "123.0",
            "RetractionDOI": "xx10.5555/N.1",
            "RetractionPubMedID": "0",
            "RetractionDate": "12/5/2019 0:00",
            "Reason": "+Error in Data;+Updated to Retraction;",
        }
    ]
    [row] = snapshot(register.write(tmp_path / "rw.csv", rows)).records.to_dicts()
    assert row["doi"] == "10.5555/abc(97)1-0"
    assert row["pmid"] == "123"
    assert row["notice_doi"] == "10.5555/n.1"
    assert row["notice_pmid"] is None
    assert row["notice_date"] == date(2019, 12, 5)
    assert row["reason"] == "Error in Data;Updated to Retraction"


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        ("6/24/1756 12:00:00 AM", date(1756, 6, 24)),
        ("2/29/2020 0:00", date(2020, 2, 29)),
        ("2/30/2020 0:00", None),
        ("13/1/2020 0:00", None),
        ("2020-03-01", date(2020, 3, 1)),
        ("", None),
        ("unknown", None),
    ],
)
def test_dates_are_month_first(tmp_path: Path, written: str, read_as: date | None) -> None:
    path = register.write(tmp_path / "rw.csv", [{"RetractionDate": written}])
    assert snapshot(path).records["notice_date"].to_list() == [read_as]


def test_sentinels_are_no_identifiers(tmp_path: Path) -> None:
    path = register.write(
        tmp_path / "rw.csv",
        [{"RetractionDOI": "Unavailable", "RetractionPubMedID": "77"}, {"RetractionDOI": "unavailable"}],
    )
    found = snapshot(path)
    notices = found.notices(found.records["doi"], found.records["pmid"])
    tables.check("doi_notices", notices.with_columns(observed_at=CLOCK).cast(notices.schema), "test")
    assert set(notices["notice_url"]) == {"https://pubmed.ncbi.nlm.nih.gov/77/", None}


def test_a_row_about_two_papers_is_two_notices(tmp_path: Path) -> None:
    path = register.write(tmp_path / "rw.csv", [{"OriginalPaperDOI": "10.5555/a;10.5555/b"}])
    found = snapshot(path)
    assert found.notices(found.records["doi"], found.records["pmid"])["work_id"].to_list() == [
        "doi:10.5555/a",
        "doi:10.5555/b",
    ]


def test_mangled_serial_dois_are_found_by_their_loose_key(tmp_path: Path) -> None:
    path = register.write(tmp_path / "rw.csv", [{"OriginalPaperDOI": "10.1002/x(1999)1:1%3c15::AID-A1%3e3.0.CO;2-1"}])
    assert snapshot(path).records["doi"].to_list() == ["10.1002/x(1999)1:1<15::aid-a1>3.0.co;2-1"]


def test_blank_rows_at_the_end_are_no_records(tmp_path: Path) -> None:
    path = tmp_path / "rw.csv"
    path.write_bytes(register.content([{}]) + b",,,,,,,,,,,,,,,,,,,,\r\n" * 5)
    assert snapshot(path).rows == 1


def test_mojibake_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    path = tmp_path / "rw.csv"
    path.write_bytes(b"\xef\xbb\xbf" + register.content([{}]).replace(b"On tides", b"On t\xefdes"))
    assert snapshot(path).rows == 1


def test_a_nature_we_do_not_know_stays_a_row(tmp_path: Path) -> None:
    path = register.write(tmp_path / "rw.csv", [{"RetractionNature": "Blessing"}])
    assert snapshot(path).records["nature"].to_list() == ["Blessing"]


def test_the_snapshot_is_named_by_its_content(tmp_path: Path) -> None:
    one = snapshot(register.write(tmp_path / "a.csv", [{}]))
    same = snapshot(register.write(tmp_path / "b.csv", [{}]))
    other = snapshot(register.write(tmp_path / "c.csv", [{"Title": "On ebb"}]))
    assert one.snapshot == same.snapshot != other.snapshot


def test_a_missing_file_is_an_outage(tmp_path: Path) -> None:
    assert "cannot be read" in reason(tmp_path / "nothing.csv")


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (lambda _: b"", "empty file"),
        (lambda _: b"<html><body>429 Too Many Requests</body></html>", "wrong header"),
        (lambda good: good.replace(b"RetractionNature", b"Nature", 1), "wrong header: no column RetractionNature"),
        (lambda good: good.split(b"\r\n")[0] + b"\r\n", "no rows"),
        (lambda good: good[: len(good) - 30], "incomplete"),
        (lambda good: good[:-2].rsplit(b",", 8)[0], "incomplete"),
        (lambda good: good[:-40] + b'"', ""),
    ],
)
def test_a_damaged_file_is_a_named_outage(tmp_path: Path, damage: object, expected: str) -> None:
    path = tmp_path / "rw.csv"
    path.write_bytes(damage(register.content([{}, {}, {}])))  # type: ignore[operator]
    assert expected in reason(path)


def test_half_an_old_and_a_wrong_file_are_outages(tmp_path: Path) -> None:
    path = register.write(tmp_path / "rw.csv", [{}, {"RetractionDate": "1/1/2026 0:00"}])
    assert "half a file" in reason(path, retraction_watch_min_rows=3)
    assert "old file" in reason(path, retraction_watch_max_age_days=14)
    assert snapshot(path, retraction_watch_max_age_days=90).rows == 2
    assert "canary not retracted: 10.5555/canary" in reason(path, canary_min_rows=0, canaries=("10.5555/canary",))
    assert snapshot(path, canary_min_rows=0, canaries=("10.5555/paper.1",)).rows == 2


def test_the_real_format(shared: Path) -> None:
    found = snapshot(shared / "retractions" / "retraction_watch_verbatim.csv")
    assert found.rows == 13
    assert found.records["notice_date"].null_count() == 0
    assert found.records["doi"].null_count() == 0


@given(st.from_regex(_PLAIN_DOI.removesuffix("$") + r"\Z").filter(lambda doi: len(doi) < 200))
def test_plain_spellings_need_no_scan(doi: str) -> None:
    assert normalise_doi(doi) == doi
