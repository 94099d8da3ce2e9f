from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verification_pipeline.text.addresses import canonical_url, work_of

SAME_PAGE = {
    "scheme, www, slash, tracking, fragment, port, host case, credentials": (
        "https://www.example.org/report?utm_source=feed&ref=share",
        "http://example.org/report/",
        "https://EXAMPLE.org:443/report?fbclid=abc#top",
        "http://example.org:80/report",
        "example.org/report",
        "//example.org/report",
        "<https://user:secret@example.org/report>",
        "https://example.org/report?ref=blog.example.com",
        "https://example.org/a/../report?source=newsletter&mc_cid=1#:~:text=ferry",
    ),
    "mirrors": (
        "https://en.wikipedia.org/wiki/Mercury_(planet)",
        "https://en.m.wikipedia.org/wiki/Mercury_%28planet%29#Orbit",
        "https://web.archive.org/web/20200101000000/https://en.wikipedia.org/wiki/Mercury_(planet)",
        "https://web.archive.org/web/2020id_/http:/en.wikipedia.org/wiki/Mercury_(planet)",
    ),
    "accelerated pages": (
        "https://news.example.org/story",
        "https://amp.news.example.org/story/amp/",
        "https://news.example.org/story?outputType=amp",
        "https://www.google.com/amp/s/news.example.org/story.amp.html",
        "https://news-example-org.cdn.ampproject.org/c/s/news.example.org/story",
    ),
    "video": (
        "https://youtu.be/aB3_-678901?si=xyz",
        "https://www.youtube.com/watch?v=aB3_-678901&t=10",
        "https://m.youtube.com/watch?list=PL1&v=aB3_-678901",
        "https://www.youtube.com/shorts/aB3_-678901",
        "https://www.youtube-nocookie.com/embed/aB3_-678901?autoplay=1",
    ),
    "preprint": (
        "https://arxiv.org/abs/2402.00002",
        "http://arxiv.org/pdf/2402.00002v3",
        "https://www.arxiv.org/pdf/2402.00002v1.pdf",
        "https://export.arxiv.org/abs/2402.00002",
        "https://arxiv.org/html/2402.00002v2",
        "https://ar5iv.labs.arxiv.org/html/2402.00002",
        "arXiv:2402.00002",
    ),
    "old preprint": ("https://arxiv.org/abs/math.GT/0309136", "https://arxiv.org/pdf/math/0309136v1"),
    "DOI": ("https://doi.org/10.1000/ABC.1", "http://dx.doi.org/10.1000/abc.1", "doi:10.1000/abc.1", "10.1000/abc.1"),
    "PubMed": (
        "https://pubmed.ncbi.nlm.nih.gov/99999999/",
        "https://www.ncbi.nlm.nih.gov/pubmed/99999999?dopt=Abstract",
    ),
    "PubMed Central": (
        "https://pmc.ncbi.nlm.nih.gov/articles/PMC123/",
        "https://www.ncbi.nlm.nih.gov/pmc/articles/PMC123/pdf/x.pdf",
        "https://europepmc.org/article/PMC/PMC123",
    ),
    "percent-encoding": ("https://example.org/%7Eanna/r%C3%A9sum%c3%a9", "https://example.org/~anna/résumé"),
    "international host": ("https://bücher.example/", "https://xn--bcher-kva.example"),
    "order of the query, session": (
        "https://example.org/list;jsessionid=1A?b=2&a=1",
        "https://example.org/list?a=1&b=2&PHPSESSID=9",
    ),
    "index page": ("https://example.org/index.html", "https://example.org"),
}

DIFFERENT_PAGES = {
    "case of the path": ("https://example.org/Abc", "https://example.org/abc"),
    "case of the query": ("https://example.org/?id=Ab", "https://example.org/?id=ab"),
    "routes of a script": ("https://example.org/#/doc/1", "https://example.org/#/doc/2", "https://example.org/#!doc/2"),
    "identity in the query": ("https://example.org/item?id=1", "https://example.org/item?id=2"),
    "video ids": ("https://www.youtube.com/watch?v=aaaaaaaaaaa", "https://www.youtube.com/watch?v=bbbbbbbbbbb"),
    "source that identifies": ("https://example.org/feed?source=1841", "https://example.org/feed?source=1842"),
    "ref that identifies": ("https://example.org/case?ref=CA-12", "https://example.org/case?ref=CA-13"),
    "port": ("https://example.org:8080/", "https://example.org/"),
    "escaped slash": ("https://example.org/a%2Fb", "https://example.org/a/b"),
    "escaped percent": ("https://example.org/a%2541", "https://example.org/aA"),
    "byte that is no UTF-8": ("https://example.org/?q=%E4", "https://example.org/?q=%E5"),
    "registered name that looks like a mirror": ("https://amp.example/x", "https://m.example/x"),
}


@pytest.mark.parametrize("kind", SAME_PAGE)
def test_forms_of_one_page_have_one_canonical_address(kind: str) -> None:
    forms = {canonical_url(url) for url in SAME_PAGE[kind]}
    assert len(forms) == 1
    assert None not in forms


@pytest.mark.parametrize("kind", DIFFERENT_PAGES)
def test_different_pages_stay_apart(kind: str) -> None:
    urls = DIFFERENT_PAGES[kind]
    assert len({canonical_url(url) for url in urls}) == len(urls)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "and/or",
        "v1.2/3",
        "mailto:a@example.org",
        "javascript:alert(1)",
        "data:text/plain,x",
        "http://",
        "http:///x",
        "http://[::1",
        "http://example.org:99999/",
        "see https://example.org",
        "http://exa mple.org/",
        "http://example.org/\x00",
        "http://example.org/\ud800",
        "https://example.org/" + "a" * 10_000,
    ],
)
def test_what_is_no_address_has_no_canonical_form(text: str) -> None:
    assert canonical_url(text) is None
    assert work_of(text) is None


@pytest.mark.parametrize(
    ("url", "work"),
    [
        ("https://doi.org/10.1000/ABC", "doi:10.1000/abc"),
        ("https://dl.acm.org/doi/pdf/10.1145/3442188.3445922", "doi:10.1145/3442188.3445922"),
        (
            "https://example.org/doi/full/10.1002/(SICI)1097(199806)49:8%3C693::AID%3E3.0.CO;2-O",
            "doi:10.1002/(sici)1097(199806)49:8<693::aid>3.0.co;2-o",
        ),
        ("https://onlinelibrary.wiley.com/doi/10.1002/jrsm.1411/full", "doi:10.1002/jrsm.1411"),
        ("https://link.springer.com/content/pdf/10.1007/s00134-020-1.pdf", "doi:10.1007/s00134-020-1"),
        ("https://www.biorxiv.org/content/10.1101/2020.01.01.123456v2.full.pdf", "doi:10.1101/2020.01.01.123456"),
        ("https://www.nature.com/articles/s41586-020-2649-2.pdf", "doi:10.1038/s41586-020-2649-2"),
        ("https://elifesciences.org/articles/00013", "doi:10.7554/elife.00013"),
        (
            "https://journals.plos.org/plosone/article?id=10.1371/journal.pone.0000001",
            "doi:10.1371/journal.pone.0000001",
        ),
        ("https://pubmed.ncbi.nlm.nih.gov/31452104/", "pmid:31452104"),
        ("https://arxiv.org/pdf/2402.00002v3", "arxiv:2402.00002"),
        ("https://doi.org/10.48550/arXiv.2402.00002", "arxiv:2402.00002"),
        ("https://huggingface.co/papers/2402.00002", "arxiv:2402.00002"),
        ("https://scite.ai/reports/10.1000/x", None),
        ("https://www.nature.com/nature/volumes", None),
        ("https://example.org/prices/10.1000/x", None),
        ("https://example.org/report", None),
    ],
)
def test_work_named_by_an_address(url: str, work: str | None) -> None:

    assert work_of(url) == work


@given(
    st.text()
    | st.builds("https://{}/{}?{}#{}".format, *[st.text()] * 4)
    | st.builds("https://example.org/{}?{}".format, *[st.text()] * 2)
)
def test_hostile_text_never_raises_and_the_canonical_form_is_stable(text: str) -> None:
    work_of(text)
    canonical = canonical_url(text)
    if canonical is not None:
        assert canonical_url(canonical) == canonical
