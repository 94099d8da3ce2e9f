"""Bodies of online registers that are not what they should be: never an exception, never a clean answer by accident."""

from __future__ import annotations

from functools import partial
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from verification_pipeline import tables
from verification_pipeline.dois import crossref, openalex, pubmed
from verification_pipeline.dois.notices import sealed
from verification_pipeline.dois.online import Answers, frame, take

DOI = "10.5555/paper.1"

scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
entries = st.fixed_dictionaries(
    {},
    optional={
        "DOI": st.sampled_from([DOI, "10.5555/n.1", "10.5555/N.1 ", "Unavailable"]) | anything,
        "type": st.sampled_from(["retraction", "retration", "Correction", "new_version"]) | anything,
        "source": st.sampled_from(["publisher", "retraction-watch"]) | anything,
        "record-id": anything,
        "updated": st.fixed_dictionaries({"date-parts": st.just([[2020, 2, 30]]) | anything}) | anything,
    },
)
items = st.fixed_dictionaries(
    {},
    optional={
        "updated-by": st.lists(entries | anything, max_size=4) | anything,
        "update-to": st.lists(entries | anything, max_size=4) | anything,
        "title": st.lists(st.text(max_size=12)) | anything,
        "issued": anything,
        "is_retracted": anything,
        "ids": anything,
    },
)


def kept(read: Any) -> Answers:
    answers = Answers()
    take(DOI, read, answers)
    notices = sealed(frame(answers.records), "crossref")
    assert notices.schema == tables.TABLES["doi_notices"].schema
    return answers


@given(items)
def test_any_crossref_record_is_read_or_fails_by_name(item: dict[str, Any]) -> None:
    answers = kept(partial(crossref.records_of, DOI, item))
    listed = item.get("updated-by")
    named = isinstance(listed, list) and any(
        isinstance(one, dict) and one.get("DOI") == "10.5555/n.1" for one in listed
    )
    assert not named or answers.outcomes[DOI] != "clean"


@given(items)
def test_any_openalex_record_is_read_or_fails_by_name(item: dict[str, Any]) -> None:
    answers = kept(partial(openalex.records_of, DOI, item))
    assert item.get("is_retracted") is not True or answers.outcomes[DOI] != "clean"


@given(st.text(alphabet="PMIDRNECT-: 0123456789\n.doi/Jan2020", max_size=200))
def test_any_medline_text_is_read(text: str) -> None:
    for fields in pubmed.medline(f"PMID- 77\n{text}\nRIN - J. 2020 Feb 31;1:1. doi: 10.5555/n.1"):
        kept(partial(pubmed.records_of, "77", fields))
