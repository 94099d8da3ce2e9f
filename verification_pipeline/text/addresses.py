"""Web addresses: the one canonical form under which two addresses are the same page, and the work an address names.

Belongs here: what an address says by itself, without fetching. Does not belong here: DOIs in running text (`dois`),
which source a reference means (`citations`), which sources are one voice (`independence`).

Percent-encoding, dot segments, IDNA and the order of the query are w3lib's. What it leaves is done here, because no URL
library has it right for citations: mirrors of a page (mobile, AMP, archive copies), tracking parameters that are
dropped without touching a parameter that identifies, and the known forms of one paper or video.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

from w3lib.url import canonicalize_url


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


MAX_CHARS = 8_192
"""Longer strings are no addresses: browsers and servers stop before."""
_MAX_WRAPPERS = 3  # an archive's copy of an archive's copy
_MAX_TAILS = 3

_SCHEMES = frozenset({"http", "https", "ftp"})
_DEFAULT_PORTS = frozenset({80, 443})
_BARE_HOST = re.compile(r"(?:[^\W_][\w-]{0,62}\.){1,8}[^\W\d_]{2,24}(?::\d{1,5})?(?=[/?#]|$)")
_HOST = re.compile(r"[\w.-]{1,253}|[0-9A-Fa-f:.]{2,45}")
_NOT_IN_ADDRESS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SCHEME = re.compile(r"https?:/{1,3}", re.IGNORECASE)
_TRAILING_SLASHES = re.compile(r"(?<=[^/])/+(?=\?|$)")

# Parameters that only ever say how a reader came to the page.
_TRACKING = _words(
    """
    fbclid gclid gclsrc dclid gbraid wbraid msclkid yclid ysclid twclid ttclid li_fat_id igshid igsh mc_cid
    mc_eid mkt_tok oly_anon_id oly_enc_id vero_id wickedid _ga _gl _hsenc _hsmi hsctatracking __hstc __hssc
    __hsfp __twitter_impression cmpid ncid cmp_id icid ito ocid s_cid spm scm trk trkinfo sharedid share_id smid
    smtyp sref rss_id feature_id ref_src ref_url guccounter guce_referrer guce_referrer_sig usqp amp_js_v
    amp_gsa amp_ct aqs sxsrf sca_esv at_medium at_campaign at_custom1 at_custom2 at_custom3 at_custom4 xtor
    phpsessid jsessionid sessionid
    """
)
_TRACKING_PREFIXES = ("utm_", "mtm_", "pk_", "piwik_", "matomo_", "hsa_", "stm_", "itm_", "amp_")
# Parameters that track with one of these values, or with a host as value, and identify with any other.
_AMBIGUOUS = _words(
    """
    ref referrer referer source src from via campaign cid medium share shared origin partner
    """
)
_CHANNELS = _words(
    """
    twitter x facebook fb linkedin reddit whatsapp telegram instagram mastodon bluesky pinterest youtube tiktok
    google bing duckduckgo yahoo chatgpt openai perplexity newsletter email mail e-mail rss feed feeds atom
    social share sharing sharebutton share-button copy link copylink copy-link bookmark homepage home hp
    frontpage nav menu footer header sidebar related recommended trending popular search sem seo ads cpc banner
    push app mobile desktop amp web website blog digest daily weekly email_share user_profile true 1
    """
)
_HOST_VALUE = re.compile(r"(?:https?://)?(?:[a-z0-9-]{1,63}\.){1,4}(?:com|org|net|io|co|dev|news|ai)/?", re.ASCII)
_AMP_PARAMETERS = frozenset({"amp", "outputtype"})
_AMP_PATH = re.compile(r"(?:/amp|\.amp)(?:\.html?)?/?$")
_INDEX = re.compile(r"/index\.html?$")
_SESSION = re.compile(r";(?:jsessionid|phpsessid)=[^/]*", re.IGNORECASE)
_ROUTE = re.compile(r"(?:!|!?/).+", re.DOTALL)
_ROUTE_SAFE = "/!?=&:@,;~%+-._"
_REMEMBERED = 4_096
"""Addresses whose reading is kept: several stages ask for those of one document."""

_MIRROR_LABELS = frozenset({"www", "m", "mobile", "amp", "touch", "wap"})
_HOST_ALIASES = {
    "youtube-nocookie.com": "youtube.com",
    "music.youtube.com": "youtube.com",
    "twitter.com": "x.com",
    "old.reddit.com": "reddit.com",
    "np.reddit.com": "reddit.com",
    "new.reddit.com": "reddit.com",
    "dx.doi.org": "doi.org",
}
_ARCHIVES = re.compile(
    r"https?://(?:web\.archive\.org/web|(?:www\.)?webarchive\.org\.uk/wayback/archive|arquivo\.pt/wayback)/"
    r"\d{1,14}[a-z_]{0,5}/(?=https?:/)(.+)",
    re.IGNORECASE | re.DOTALL,
)
_AMP_CACHES = re.compile(
    r"https?://(?:[a-z0-9-]+\.cdn\.ampproject\.org/(?:c|v|i)/|(?:www\.)?google\.[a-z.]{2,6}/amp/)(?:s/)?(.+)",
    re.IGNORECASE | re.DOTALL,
)

_YOUTUBE_PATH = re.compile(r"/(?:shorts|embed|live|v|e)/([\w-]{11})(?:/|$)", re.ASCII)
_YOUTUBE_ID = re.compile(r"[\w-]{11}", re.ASCII)
_ARXIV_HOSTS = re.compile(r"(?:[a-z-]{1,20}\.)?arxiv\.org|xxx\.lanl\.gov|ar5iv\.org|ar5iv\.labs\.arxiv\.org")
_ARXIV_READERS = frozenset({"alphaxiv.org", "arxiv-vanity.com", "huggingface.co", "semanticscholar.org"})
_ARXIV_NUMBER = r"([0-9]{4}\.[0-9]{4,5}|[a-z-]{2,20}(?:\.[a-z]{2})?/[0-9]{7})(?:v[0-9]{1,3})?"
_ARXIV_PATH = re.compile(
    rf"/(?:abs|pdf|html|ps|format|src|e-print|papers|arxiv|overview)/{_ARXIV_NUMBER}(?:\.pdf|\.ps)?/?", re.IGNORECASE
)
_ARXIV_NAME = re.compile(rf"arxiv:\s?{_ARXIV_NUMBER}", re.IGNORECASE)
_ARXIV_CLASS = re.compile(r"(?<=[a-z])\.[a-z]{2}(?=/)")
_ARXIV_DOI = re.compile(r"10\.48550/arxiv\.(.+?)(?:v[0-9]{1,3})?")
_PUBMED_PATHS = {
    "pubmed.ncbi.nlm.nih.gov": re.compile(r"/([0-9]{1,9})(?:/|$)"),
    "ncbi.nlm.nih.gov": re.compile(r"/(?:m/)?pubmed/([0-9]{1,9})(?:/|$)"),
    "europepmc.org": re.compile(r"/(?:abstract|article)/med/([0-9]{1,9})(?:/|$)", re.IGNORECASE),
}
_PMC_PATHS = {
    "pmc.ncbi.nlm.nih.gov": re.compile(r"/articles/(?:pmc)?([0-9]{1,9})(?:/|$)", re.IGNORECASE),
    "ncbi.nlm.nih.gov": re.compile(r"/(?:m/)?pmc/articles/(?:pmc)?([0-9]{1,9})(?:/|$)", re.IGNORECASE),
    "europepmc.org": re.compile(r"/(?:articles?|abstract)/(?:pmc/)?pmc([0-9]{1,9})(?:/|$)", re.IGNORECASE),
}

_DOI = re.compile(r"10\.[0-9]{4,9}(?:\.[0-9]{1,9}){0,4}/\S+")
_DOI_NAME = re.compile(r"^doi:\s?", re.IGNORECASE)
_DOI_SAFE = "/:;()._-"
_PLOS = re.compile(r"(?:^|\.)plos(?:one|biology|medicine)?\.org$")
_DOI_SEGMENTS = _words(
    """
    doi abs full pdf epdf pdfdirect pdfplus epub reader article articles article-abstract content chapter
    chapters book books reference referenceworkentry stable fulltext abstract toc early figure suppl citedby
    references
    """
)
_NOT_THE_WORK = re.compile(
    r"(?:^|\.)(?:scite\.ai|altmetric\.com|pubpeer\.com|crossref\.org|plu\.mx|connectedpapers\.com)$"
)
_DOI_TAIL = re.compile(
    r"(?:/(?:full(?:[./](?:html?|pdf|text))?|pdf|epdf|pdfdirect|abstract|abs|html?|meta|summary|references|figures"
    r"|suppl(?:_file)?|citedby|metrics|fulltext|tab-[a-z-]+|supplementary-material)"
    r"|\.full(?:-text)?(?:\.pdf)?|\.abstract|\.pdf|\.html?|\.long|\.short)$",
    re.IGNORECASE,
)
_PREPRINT_VERSION = re.compile(r"(10\.(?:1101|64898)/[\d.]+)v\d{1,3}$")
# Hosts whose DOI is made from the address by the publisher's own rule: host, path pattern, DOI prefix.
_DOI_RULES = (
    ("nature.com", re.compile(r"/articles/([a-z]*\d[\w.-]*?)(?:\.pdf|/.*)?$"), "10.1038/"),
    (
        "elifesciences.org",
        re.compile(r"/(?:articles|reviewed-preprints)/(\d{5,6})(?:v\d+)?(?:/.*)?$"),
        "10.7554/elife.",
    ),
    ("peerj.com", re.compile(r"/articles/(\d{1,6})(?:\.pdf|/.*)?$"), "10.7717/peerj."),
    ("zenodo.org", re.compile(r"/records?/(\d{1,9})(?:/.*)?$"), "10.5281/zenodo."),
)


@lru_cache(maxsize=_REMEMBERED)
def canonical_url(url: str) -> str | None:
    """The canonical form of a web address, or None when the string is none. Two addresses with one form are one page.

    Always `https`, without `www`, mobile and AMP hosts, default ports, credentials, tracking parameters, trailing slash
    and fragment (a `#/route` or `#!route` is kept); case of path and query, and every identifying parameter, are kept.
    Archive copies give the archived address; arXiv, DOI, PubMed, PubMed Central and YouTube their one landing page.
    """
    parts = _split(url)
    if parts is None:
        return None
    landing = _landing_page(parts)
    if landing is not None:
        return landing
    query = _identifying(parts.query)
    shown = f"?{urlencode(query, errors='surrogateescape')}" if query else ""
    try:
        canonical: str = canonicalize_url(f"https://{parts.netloc}{_page_path(parts.path)}{shown}")
    except (ValueError, UnicodeError):
        return None
    return _TRAILING_SLASHES.sub("", canonical) + _route(parts.fragment)


@lru_cache(maxsize=_REMEMBERED)
def work_of(url: str) -> str | None:
    """`doi:…`, `pmid:…` or `arxiv:…` when the address names a scholarly work, else None.

    A DOI is read from a resolver, from a publisher's path that carries it, or by a publisher's fixed rule; an arXiv
    number is the same work in every version and format, and by its DataCite DOI. DOIs are in lower case.
    """
    parts = _split(url)
    if parts is None:
        return None
    if arxiv := _arxiv(parts):
        return f"arxiv:{arxiv}"
    if pmid := _numbered(_PUBMED_PATHS, parts):
        return f"pmid:{pmid}"
    doi = _doi(parts)
    if doi is None:
        return None
    preprint = _ARXIV_DOI.fullmatch(doi)
    return f"arxiv:{preprint[1]}" if preprint else f"doi:{doi}"


def _split(url: str) -> SplitResult | None:
    """The parts of an address, archives unwrapped and host canonical; None for anything that is no web address."""
    text = url.strip().removeprefix("<").removesuffix(">").strip()
    if not text or len(text) > MAX_CHARS or _NOT_IN_ADDRESS.search(text):
        return None
    for _ in range(_MAX_WRAPPERS):
        wrapped = _ARCHIVES.fullmatch(text) or _AMP_CACHES.fullmatch(text)
        if wrapped is None:
            break
        text = _with_two_slashes(wrapped[1])
    try:
        parts = urlsplit(_with_scheme(text))
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return None
    if parts.scheme not in _SCHEMES or not _HOST.fullmatch(host):
        return None
    host = _canonical_host(host)
    shown = f"[{host}]" if ":" in host else host
    return parts._replace(netloc=shown if port is None or port in _DEFAULT_PORTS else f"{shown}:{port}")


def _with_two_slashes(inner: str) -> str:
    """An address as archives nest it (`http:/host`, or without scheme), whole again."""
    scheme = _SCHEME.match(inner)
    return f"https://{inner[scheme.end() :] if scheme else inner}"


def _with_scheme(text: str) -> str:
    """The address as it would be typed with a scheme: resolvers for `doi:` and `arxiv:`, https for a bare host."""
    if name := _ARXIV_NAME.fullmatch(text):
        return f"https://arxiv.org/abs/{name[1]}"
    bare = _DOI_NAME.sub("", text)
    if _DOI.fullmatch(bare):
        return f"https://doi.org/{bare}"
    if text.startswith("//"):
        return f"https:{text}"
    return f"https://{text}" if _BARE_HOST.match(text) else text


def _canonical_host(host: str) -> str:
    """The host without the labels that name a mirror, and under the name its other names lead to."""
    labels = host.rstrip(".").split(".")
    kept = [label for i, label in enumerate(labels) if label not in _MIRROR_LABELS or i >= len(labels) - 2]
    name = ".".join(kept)
    return _HOST_ALIASES.get(name, name)


def _landing_page(parts: SplitResult) -> str | None:
    """The one address of a paper or a video that has several, else None."""
    if video := _youtube(parts):
        return f"https://youtube.com/watch?v={video}"
    if _ARXIV_HOSTS.fullmatch(parts.netloc) and (number := _arxiv(parts)):
        return f"https://arxiv.org/abs/{number}"
    if parts.netloc == "doi.org" and (doi := _doi(parts)):
        return f"https://doi.org/{quote(doi, safe=_DOI_SAFE)}"
    if pmid := _numbered(_PUBMED_PATHS, parts):
        return f"https://pubmed.ncbi.nlm.nih.gov/{pmid}"
    if pmc := _numbered(_PMC_PATHS, parts):
        return f"https://pmc.ncbi.nlm.nih.gov/articles/PMC{pmc}"
    return None


def _youtube(parts: SplitResult) -> str | None:
    if parts.netloc == "youtu.be":
        candidate = parts.path.strip("/")
    elif parts.netloc != "youtube.com":
        return None
    elif parts.path.rstrip("/") == "/watch":
        candidate = dict(_pairs(parts.query)).get("v", "")
    else:
        match = _YOUTUBE_PATH.match(parts.path)
        candidate = match[1] if match else ""
    return candidate if _YOUTUBE_ID.fullmatch(candidate) else None


def _arxiv(parts: SplitResult) -> str | None:
    if not (_ARXIV_HOSTS.fullmatch(parts.netloc) or parts.netloc in _ARXIV_READERS):
        return None
    match = _ARXIV_PATH.fullmatch(parts.path)
    return _ARXIV_CLASS.sub("", match[1].lower()) if match else None


def _numbered(paths: Mapping[str, re.Pattern[str]], parts: SplitResult) -> str | None:
    pattern = paths.get(parts.netloc)
    match = pattern.match(parts.path) if pattern else None
    return match[1].lstrip("0") or None if match else None


def _doi(parts: SplitResult) -> str | None:
    """The DOI that an address carries, in lower case and without the page's own tail (`/full`, `.pdf`)."""
    host = parts.netloc
    if host == "doi.org":
        match = _DOI.fullmatch(unquote(parts.path).strip("/ "))
        return match[0].lower() if match else None
    if _NOT_THE_WORK.search(host):
        return None
    for suffix, pattern, prefix in _DOI_RULES:
        if (host == suffix or host.endswith(f".{suffix}")) and (match := pattern.fullmatch(parts.path)):
            return prefix + match[1].lower()
    carried = dict(_pairs(parts.query)).get("id", "") if _PLOS.search(host) else _doi_in_path(unquote(parts.path))
    return _PREPRINT_VERSION.sub(r"\1", _without_tail(carried.lower())) if _DOI.fullmatch(carried) else None


def _doi_in_path(path: str) -> str:
    """What follows a segment by which publishers announce a DOI (`/doi/`, `/article/`), or nothing."""
    segments = path.split("/")
    for i in range(1, len(segments) - 1):
        if segments[i].startswith("10.") and segments[i - 1].lower() in _DOI_SEGMENTS:
            return "/".join(segments[i:]).rstrip("/")
    return ""


def _without_tail(doi: str) -> str:
    for _ in range(_MAX_TAILS):
        shorter = _DOI_TAIL.sub("", doi)
        if shorter == doi or not _DOI.fullmatch(shorter):
            break
        doi = shorter
    return doi


def _pairs(query: str) -> list[tuple[str, str]]:
    return parse_qsl(query, keep_blank_values=True, errors="surrogateescape")


def _identifying(query: str) -> list[tuple[str, str]]:
    """The parameters of a query that may say which page it is."""
    return [(name, value) for name, value in _pairs(query) if not _tracks(name.lower(), value.lower())]


def _tracks(name: str, value: str) -> bool:
    """Whether a parameter says how the reader came, not what is read."""
    if name in _TRACKING or name.startswith(_TRACKING_PREFIXES):
        return True
    if name in _AMP_PARAMETERS:
        return value in {"amp", "1", "true"}
    return name in _AMBIGUOUS and (value in _CHANNELS or _HOST_VALUE.fullmatch(value) is not None)


def _page_path(path: str) -> str:
    """The path without what only chooses a rendering: a session id, `/amp`, `/index.html`."""
    path = _SESSION.sub("", path)
    without_amp = _AMP_PATH.sub("", path)
    return _INDEX.sub("/", without_amp if without_amp.strip("/") else path)


def _route(fragment: str) -> str:
    """A fragment that a script reads as a path, as written; nothing for a place on the page."""
    return f"#{quote(fragment, safe=_ROUTE_SAFE)}" if _ROUTE.fullmatch(fragment) else ""
