"""Voices: what joins sources and what does not, on texts written for it."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from tests.builders import DOCUMENT
from tests.independence.drive import PROSE, archive_of, clusters_of, groups, source, text_of
from verification_pipeline import keys, tables
from verification_pipeline.config import Independence
from verification_pipeline.independence import Member, cluster_archive, effective_sources, sketch
from verification_pipeline.stages.voices import SketchRow

RELEASE = text_of(1, 120)


def test_copies_are_one_voice_and_others_are_not() -> None:
    rows = clusters_of(source("1", text_of(1, 300)), source("2", text_of(1, 300)), source("3", text_of(2, 300)))
    assert groups(rows) == [("body", ["1", "2"])]
    assert effective_sources(3, rows) == 2
    tables.check("clusters", tables.frame("clusters", rows), "test")


@pytest.mark.parametrize("share", [0.02, 0.07])
def test_an_edited_copy_is_the_same_voice(share: float) -> None:
    rng = random.Random(3)
    words = text_of(1, 400).split(" ")
    edited = " ".join(rng.choice(PROSE) if rng.random() < share else word for word in words)
    assert groups(clusters_of(source("1", text_of(1, 400)), source("2", edited))) == [("body", ["1", "2"])]


def test_a_release_inside_an_article_is_the_same_voice() -> None:
    article = f"{text_of(2, 200)}\n\n{RELEASE}\n\n{text_of(3, 400)}"
    (first, second) = clusters_of(source("1", RELEASE), source("2", article))
    assert first.kind == second.kind == "body"
    assert first.similarity > 0.9


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("The bridge is open.", "Ferry cancelled today."),
        ("The bridge is open.", "The bridge is open."),
        ("", ""),
    ],
)
def test_texts_too_short_to_compare_are_never_joined(left: str, right: str) -> None:
    assert clusters_of(source("1", left), source("2", right)) == []


def test_sources_without_text_are_joined_by_address_only() -> None:
    rows = clusters_of(
        source("1", None, url="https://www.example.org/a?utm_source=x"),
        source("2", None, url="http://example.org/a/"),
        source("3", None, url="https://example.org/b"),
    )
    assert groups(rows) == [("url", ["1", "2"])]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"url": "https://arxiv.org/abs/2402.00002"}, {"url": "https://arxiv.org/pdf/2402.00002v3"}),
        ({"doi": "10.1000/ABC"}, {"url": "https://doi.org/10.1000/abc"}),
        ({"doi": "10.1145/3442188"}, {"url": "https://dl.acm.org/doi/pdf/10.1145/3442188"}),
        ({"doi": "https://doi.org/10.1000/abc"}, {"doi": "10.1000/abc"}),
        ({"doi": "10.48550/arXiv.2402.00002"}, {"url": "https://arxiv.org/abs/2402.00002"}),
        ({"pmid": "99999999"}, {"url": "https://pubmed.ncbi.nlm.nih.gov/99999999/"}),
        ({"url": "https://youtu.be/aaaaaaaaaaa"}, {"url": "https://www.youtube.com/watch?v=aaaaaaaaaaa&t=1"}),
    ],
)
def test_one_work_under_several_names(left: dict[str, str], right: dict[str, str]) -> None:
    rows = clusters_of(source("1", text_of(1, 200), **left), source("2", text_of(2, 200), **right))
    assert groups(rows) == [("url", ["1", "2"])]


def test_a_work_that_carries_two_names_joins_both() -> None:
    rows = clusters_of(
        source("1", None, doi="10.1000/abc"),
        source("2", None, doi="10.1000/abc", pmid="123"),
        source("3", None, url="https://pubmed.ncbi.nlm.nih.gov/123"),
    )
    assert groups(rows) == [("url", ["1", "2", "3"])]


NAVIGATION = (
    "Skip to main content The Daily Harbour Home World Business Markets Technology Science Health Sports Opinion "
    "Newsletters Video Podcasts Subscribe\n"
    "We use cookies to store and access information on your device and to show you advertising that fits.\n"
)


def test_shared_navigation_and_the_mention_of_an_agency_join_nothing() -> None:
    first = f"{NAVIGATION}\n{text_of(1, 40)} (Reuters) {text_of(4, 20)}"
    second = f"{NAVIGATION}\n{text_of(2, 40)} said Reuters. {text_of(5, 20)}"
    assert clusters_of(source("1", first), source("2", second)) == []


def test_consent_walls_are_not_copies_of_each_other() -> None:
    wall = "We value your privacy and we and our partners store information on your device. " * 3
    assert clusters_of(source("1", wall), source("2", wall)) == []


def test_pages_of_one_site_share_its_template_and_stay_apart() -> None:
    template = text_of(9, 150)
    pages = [source(str(k), f"{template}\n\n{text_of(k, 120)}", url=f"https://example.org/{k}") for k in range(1, 6)]
    assert clusters_of(*pages) == []


def test_a_text_that_many_pages_carry_for_a_small_part_joins_none_of_them() -> None:
    wrapper = text_of(9, 60)
    sizes = [40, 300, 400, 500, 600, 700, 800]
    pages = [source(str(k), f"{wrapper}\n\n{text_of(k, size)}") for k, size in enumerate(sizes, start=1)]
    assert clusters_of(*pages) == []


def test_the_same_story_on_three_pages_of_a_site_is_one_voice() -> None:
    pages = [source(str(k), text_of(1, 300), url=f"https://example.org/{k}") for k in range(1, 4)]
    assert groups(clusters_of(*pages)) == [("body", ["1", "2", "3"])]


DATELINES = [
    "HARBOUR CITY, March 3, PRNewswire -- ",
    "HARBOUR CITY, March 3 /PRNewswire/ -- ",
    "HARBOUR CITY (Reuters) - ",
    "Berlin (dpa) - ",
    "Hamburg (dpa/lno) - ",
    "PARIS (AFP) — ",
    "Madrid, 5 mayo (EFE).- ",
    "(ANSA) - ROMA, 5 MAG - ",
    "МОСКВА, 5 мая. /ТАСС/. ",
    "新华社北京5月1日电 ",
    "By Anna Holm, Associated Press\n",
]
CREDITS = [
    "\n\nReporting by Anna Holm and Reuters; editing by the night desk.",
    "\n\n(Reporting by Anna Holm in Harbour City; Editing by Per Lund)",
    "\n\n© 2024 The Associated Press. All rights reserved.",
    "\n\nCopyright 2024 AFP",
    "\n\nSource: Xinhua",
    "\n\nQuelle: dpa",
    "\n\n(Reuters)",
    "\n\n— Reuters",
    "\n\nThis story was produced by Reuters.",
]


@pytest.mark.parametrize("dateline", DATELINES)
def test_shared_text_under_a_dateline_is_wire_copy(dateline: str) -> None:
    rows = clusters_of(source("1", dateline + RELEASE), source("2", text_of(4, 20) + "\n\n" + RELEASE))
    assert groups(rows) == [("wire", ["1", "2"])]


@pytest.mark.parametrize("credit", CREDITS)
def test_shared_text_over_a_credit_is_wire_copy(credit: str) -> None:
    rows = clusters_of(source("1", RELEASE + credit), source("2", text_of(4, 20) + "\n\n" + RELEASE))
    assert groups(rows) == [("wire", ["1", "2"])]


@pytest.mark.parametrize(
    "mention",
    [
        "The report was confirmed by Reuters and by two officials. ",
        "He told Reuters that the ferry ran. ",
        "A Reuters poll of the harbour found otherwise. ",
        "The APA guidelines ask for it. ",
    ],
)
def test_a_mere_mention_makes_no_wire_copy(mention: str) -> None:
    rows = clusters_of(source("1", text_of(4, 30) + mention + RELEASE), source("2", RELEASE))
    assert groups(rows) == [("body", ["1", "2"])]


def test_agency_copy_is_recognised_by_the_agency_own_site_or_publisher() -> None:
    first = source("1", RELEASE, url="https://www.reuters.com/world/a1")
    assert groups(clusters_of(first, source("2", RELEASE))) == [("wire", ["1", "2"])]
    assert groups(clusters_of(source("1", RELEASE, publisher="Reuters Energy"), source("2", RELEASE))) == [
        ("wire", ["1", "2"])
    ]


def test_two_stories_of_one_agency_stay_apart() -> None:
    first = source("1", "HARBOUR CITY (Reuters) - " + text_of(1, 200))
    assert clusters_of(first, source("2", "LAKE TOWN (Reuters) - " + text_of(2, 200))) == []


def test_a_cluster_of_mixed_edges_takes_the_strongest_kind() -> None:
    rows = clusters_of(
        source("1", "HARBOUR CITY (Reuters) - " + RELEASE, url="https://example.org/a"),
        source("2", RELEASE, url="https://example.com/b"),
        source("3", text_of(7, 100), url="https://www.example.com/b?utm_source=x"),
    )
    assert groups(rows) == [("wire", ["1", "2", "3"])]


def test_a_chain_reports_its_weakest_link() -> None:
    parts = [text_of(k, 200) for k in range(1, 5)]
    rows = clusters_of(
        source("1", f"{parts[0]}\n\n{parts[1]}"),
        source("2", f"{parts[1]}\n\n{parts[2]}"),
        source("3", f"{parts[2]}\n\n{parts[3]}"),
        settings=Independence(body_share=0.45),
    )
    assert groups(rows) == [("body", ["1", "2", "3"])]
    assert {round(row.weakest_link, 1) for row in rows} == {0.5}
    assert all(row.weakest_link <= row.similarity for row in rows)


def test_the_root_is_the_earliest_published_then_fetched_then_the_smallest_key() -> None:
    text = text_of(1, 100)
    late = source("1", text, published_at="2024-05-02", fetched_at="2024-06-01")
    early = source("2", text, published_at="2024-05", fetched_at="2024-06-03T10:00:00+00:00")
    unknown = source("3", text, fetched_at="2020-01-01")
    assert {row.root for row in clusters_of(late, early, unknown)} == {early.source.source_key}
    assert {row.root for row in clusters_of(source("1", text), unknown)} == {unknown.source.source_key}
    both = source("4", text), source("5", text)
    assert {row.root for row in clusters_of(*both)} == {min(one.source.source_key for one in both)}


def test_hours_are_compared_across_time_zones() -> None:
    text = text_of(1, 100)
    first = source("1", text, published_at="2024-05-02T01:00:00+02:00")
    second = source("2", text, published_at="2024-05-01T23:30:00Z")
    assert {row.root for row in clusters_of(first, second)} == {first.source.source_key}


def test_the_archive_finds_the_same_clusters_and_fetches_only_what_overlaps() -> None:
    members = [source(str(k), text_of(k, 300)) for k in range(1, 30)]
    members.append(source("copy", text_of(1, 300)))
    rows, fetched = archive_of(*members)
    assert groups(rows) == [("body", ["1", "copy"])]
    assert {row.document_key for row in rows} == {None}
    assert fetched == {members[0].source.source_key, members[-1].source.source_key}


@pytest.mark.parametrize(("share", "asked"), [(1.0, [2]), (0.0, [2, 1])])
def test_pairs_are_compared_together_and_never_when_a_better_one_makes_them_needless(
    share: float, asked: list[int]
) -> None:
    members = [source(str(k), f"{text_of(1, 300)} {text_of(k, 12)}") for k in range(2, 5)]
    rows = [SketchRow.of(sketch(one, Independence()), None) for one in members]
    counts = []

    def measure(pairs: Sequence[tuple[str, str]]) -> list[float]:
        counts.append(len(pairs))
        return [share] * len(pairs)

    sources = (Member.of(one.source, Independence()) for one in members)
    found = cluster_archive(sources, tables.frame("sketches", rows), measure, Independence())
    assert counts == asked
    assert len(found) == (3 if share else 0)


def test_the_result_does_not_depend_on_the_order_of_sources() -> None:
    members = [source(str(k), text_of(k % 7, 120) + " " + text_of(k % 3, 200)) for k in range(1, 20)]
    assert clusters_of(*members) == clusters_of(*reversed(members))
    assert archive_of(*members)[0] == archive_of(*reversed(members))[0]


def test_a_cluster_of_a_thousand_copies_is_one_cluster_for_a_thousand_comparisons() -> None:
    text = text_of(1, 200)
    rows, _ = archive_of(*(source(str(k), text) for k in range(1_000)))
    assert len(rows) == 1_000
    assert len({row.cluster_id for row in rows}) == 1
    assert rows[0].cluster_id == keys.cluster_id(None, rows[0].root)


def test_ideographs_are_compared_too() -> None:
    first = (
        "港口对所有船只关闭直到明年五月,市政府星期一在会议上说,渡轮公司将把旅客转送到东岸的码头,费用由州里承担。" * 2
    )
    second = (
        "面包师在太阳升起之前很久就开始工作,学徒们在寒冷的大厅里学习切割和打磨旧玻璃,冬天炉子停一个月修理砖块。" * 2
    )
    rows = clusters_of(source("1", first), source("2", "本报讯 " + first), source("3", second))
    assert groups(rows) == [("body", ["1", "2"])]


def test_hard_wrapped_text_is_the_text() -> None:
    text = text_of(1, 300)
    words = text.split()
    wrapped = "\n".join(" ".join(words[k : k + 9]) for k in range(0, len(words), 9))
    assert groups(clusters_of(source("1", text), source("2", wrapped))) == [("body", ["1", "2"])]


def test_cluster_ids_name_the_scope() -> None:
    rows = clusters_of(source("1", RELEASE), source("2", RELEASE))
    assert {row.cluster_id for row in rows} == {keys.cluster_id(DOCUMENT, rows[0].root)}
