"""Fleet figures with honest denominators: what share of an archive is supported, and how sure that is.

`tally` counts the rows of one shard into a few lines, `compute` turns the lines of all shards into rows of `metrics`,
per corpus and for the whole archive (`*`). A line is (corpus, measure, stratum, value) → n, so tallies add up.

How shares of verdicts are estimated. Strata are the auto-passed pairs (all known) and the pairs that need a reader, by
corpus, stratum and probability. Selection is by hash, so the pairs selected in a stratum stand for it with weight
size / selected, which is 1 / probability up to the luck of the draw (the post-stratified, Hájek form). Intervals:
Wilson's in each stratum, with the finite-population correction (a stratum read in full has none), combined by the
square-and-add rule (MOVER; Zou & Donner, Statistics in Medicine 27, 2008), which stays sound at 0 and 1.

What is unread for a reason other than the draw (no text, low confidence, budget …) is not random: it is left out of
the estimate and bounded instead. `<verdict>_share_bounds` gives the share among all pairs with a source, from none of
the unread pairs having the verdict to all of them. Exact counts have intervals of no width. Intervals speak of what
was drawn, not of the checker's own errors: its accuracy is measured apart.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import polars as pl

from verification_pipeline.config import Metrics
from verification_pipeline.quotes import SHORT
from verification_pipeline.receipts.assembly import ReceiptInputs
from verification_pipeline.tables import frame

TALLY_SCHEMA = pl.Schema(
    {
        "corpus": pl.String(),
        "measure": pl.String(),
        "stratum": pl.String(),
        "probability": pl.Float64(),
        "value": pl.String(),
        "n": pl.Int64(),
    }
)
WHOLE = "*"

VERDICTS = ("supported", "partially-supported", "unsupported", "wrong-source")

NAMES: dict[str, str] = {
    "documents": "Documents, of any status.",
    "documents_passed_share": "Documents that cleared the gate, of all documents.",
    "documents_failed_share": "Documents with a failed check, of all documents.",
    "documents_not_verified_share": "Documents in which nothing failed and nothing was verified, of all documents.",
    "pairs": "Pairs of a claim and a cited target.",
    "pairs_auto_passed_share": "Pairs that passed without a reader, of all pairs.",
    "pairs_checked_share": "Pairs that a checker graded, of all pairs.",
    "pairs_not_checked_share": "Pairs with a source that nobody graded, of all pairs.",
    "pairs_dangling_share": "Pairs whose target has no source, of all pairs.",
    "not_checked_share:<reason>": "Pairs not graded for this reason, of all pairs.",
    "<verdict>_share": "Estimated share of this verdict among pairs that can be read; auto-passed pairs are supported.",
    "<verdict>_share_bounds": "Range of that share among all pairs with a source, whatever the unread ones hold.",
    "contradicted_share": "Estimated share of pairs whose source says otherwise, among pairs that can be read.",
    "contradicted_share_bounds": "Range of that share among all pairs with a source.",
    "quotes": "Quoted spans of the length that is checked.",
    "quotes_verified_share": "Quotations found verbatim in a cited source, of those examined.",
    "quotes_altered_share": "Quotations with other words than the source, of those examined.",
    "quotes_not_found_share": "Quotations found in no cited source, of those examined.",
    "quotes_misattributed_share": "Quotations that stand in another source of the document, of those examined.",
    "quotes_not_checked_share": "Quotations that could not be examined, of all.",
    "works": "Cited works, counted once a document.",
    "works_retracted_share": "Cited works that are retracted, of those with a known status.",
    "works_concern_share": "Cited works under an expression of concern, of those with a known status.",
    "works_corrected_share": "Cited works with a correction, of those with a known status.",
    "works_unknown_share": "Cited works without a known status (unavailable or never asked), of all.",
    "retracted_unacknowledged": "Retracted works cited without saying so, counted once a document.",
    "sources": "Sources of documents, counted once a document.",
    "effective_sources_share": "Independent voices, of those sources.",
    "markers": "Marker rows, citations or not.",
    "markers_unsupported_share": "Markers in a style that is not bound to sources, of all.",
}
"""Every metric and its denominator. `<verdict>` is a verdict with underscores."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A row of `metrics`."""

    run_id: str
    corpus: str
    metric: str
    value: float | None
    low: float | None
    high: float | None
    n: int


COUNTED: dict[str, tuple[str, ...]] = {
    "documents": ("document_key", "corpus"),
    "document_sources": ("document_key",),
    "markers": ("document_key", "status"),
    "pairs": ("pair_id", "document_key", "status", "reason"),
    "triage": ("pair_id", "outcome"),
    "batches": ("pair_id", "stratum", "probability"),
    "verdicts": ("pair_id", "checked", "verdict", "contradicted", "not_checked_reason"),
    "quotes": ("document_key", "status", "reason", "found_in_source_key"),
    "doi_mentions": ("document_key", "work_id", "noted_in_document", "cited", "start"),
    "clusters": ("document_key", "source_key", "root"),
}
"""The columns that `tally` counts by, of tables with a row a document; of `doi_statuses` it takes work and status."""

# --- counting ---------------------------------------------------------------------------------------------------


def tally(frames: ReceiptInputs, receipts: pl.DataFrame) -> pl.DataFrame:
    """Counts of one shard (TALLY_SCHEMA). `receipts` needs document_key, state and current."""
    corpora = frames.documents.select("document_key", "corpus")
    states = receipts.filter(pl.col("current")).select("document_key", pl.col("state").alias("value"))
    parts = [
        _counted("documents", corpora.join(states, on="document_key", how="left"), corpora=None),
        _counted("pairs", _pairs(frames), corpora),
        _counted("quotes", _quotes(frames), corpora),
        _counted("works", _works(frames), corpora),
        _counted("sources", frames.document_sources.select("document_key", pl.lit("source").alias("value")), corpora),
        _counted("sources", _repeats(frames), corpora),
        _counted("markers", frames.markers.select("document_key", pl.col("status").alias("value")), corpora),
    ]
    return add(parts)


def add(tallies: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Tallies of several shards as one."""
    by = [name for name in TALLY_SCHEMA if name != "n"]
    return pl.concat([pl.DataFrame(schema=TALLY_SCHEMA), *tallies]).group_by(by).agg(pl.col("n").sum()).sort(by)


def _counted(measure: str, rows: pl.DataFrame, corpora: pl.DataFrame | None) -> pl.DataFrame:
    if corpora is not None:
        rows = rows.join(corpora, on="document_key")
    for name in ("stratum", "probability"):
        if name not in rows.columns:
            rows = rows.with_columns(pl.lit(None, dtype=TALLY_SCHEMA[name]).alias(name))
    return (
        rows.group_by("corpus", "stratum", "probability", "value")
        .agg(pl.len().cast(pl.Int64).alias("n"))
        .select("corpus", pl.lit(measure).alias("measure"), "stratum", "probability", "value", "n")
    )


def _pairs(frames: ReceiptInputs) -> pl.DataFrame:
    """Each pair's stratum, probability and value: a verdict (` contradicted`), `unread:<reason>` or nothing."""
    verdicts = frames.verdicts.select("pair_id", "checked", "verdict", "contradicted", "not_checked_reason")
    passed, dangling = pl.col("outcome") == "auto-passed", pl.col("status") == "dangling"
    graded = pl.col("verdict") + pl.when(pl.col("contradicted")).then(pl.lit(" contradicted")).otherwise(pl.lit(""))
    unread = pl.lit("unread:") + pl.coalesce("not_checked_reason", "reason", pl.lit("missing-answer"))
    return (
        frames.pairs.select("pair_id", "document_key", "status", "reason")
        .join(frames.triage.select("pair_id", "outcome"), on="pair_id", how="left")
        .join(frames.batches.select("pair_id", "stratum", "probability"), on="pair_id", how="left")
        .join(verdicts, on="pair_id", how="left")
        .select(
            "document_key",
            pl.when(dangling)
            .then(pl.lit("dangling"))
            .when(passed)
            .then(pl.lit("auto-passed"))
            .otherwise(pl.coalesce("stratum", pl.lit("uncheckable")))
            .alias("stratum"),
            pl.when(~dangling & ~passed).then("probability").alias("probability"),
            pl.when(dangling | passed)
            .then(None)
            .when(pl.col("checked").fill_null(False))
            .then(graded)
            .otherwise(unread)
            .alias("value"),
        )
    )


def _quotes(frames: ReceiptInputs) -> pl.DataFrame:
    elsewhere = (pl.col("status") == "not-found") & pl.col("found_in_source_key").is_not_null()
    value = pl.when(elsewhere).then(pl.lit("misattributed")).otherwise("status")
    checked = frames.quotes.filter(pl.col("reason").ne_missing(SHORT))
    return checked.select("document_key", value.alias("value"))


def _works(frames: ReceiptInputs) -> pl.DataFrame:
    unnoted = (
        (pl.col("status") == "retracted")
        & ~pl.col("noted_in_document")
        & (pl.col("cited") | pl.col("start").is_not_null())
    )
    value = pl.when(unnoted).then(pl.lit("retracted-unacknowledged")).otherwise(pl.col("status").fill_null("unchecked"))
    statuses = frames.doi_statuses.select("work_id", "status")
    return frames.doi_mentions.join(statuses, on="work_id", how="left").select("document_key", value.alias("value"))


def _repeats(frames: ReceiptInputs) -> pl.DataFrame:
    """One row for each source of a cluster but its root."""
    scoped = frames.clusters.filter(pl.col("document_key").is_not_null() & (pl.col("source_key") != pl.col("root")))
    return scoped.select("document_key", pl.lit("repeat").alias("value"))


# --- estimating -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stratum:
    """Pairs that were drawn together: `size` in all, `selected` drawn, of these `hits` counted and `unread`."""

    size: int
    selected: int
    hits: int
    unread: int

    @property
    def graded(self) -> int:
        """Pairs with a verdict."""
        return self.selected - self.unread


def compute(run_id: str, tallies: pl.DataFrame, settings: Metrics | None = None) -> pl.DataFrame:
    """Rows of table `metrics` from the added tallies, per corpus and for the whole archive."""
    z = NormalDist().inv_cdf(0.5 + (settings or Metrics()).confidence / 2)
    corpora = tallies["corpus"].unique().sort().to_list()
    rows = [row for corpus in corpora for row in _scope(run_id, corpus, tallies.filter(corpus=corpus), z)]
    rows += _scope(run_id, WHOLE, tallies, z)
    return frame("metrics", rows)


def _scope(run_id: str, corpus: str, tallies: pl.DataFrame, z: float) -> Iterator[Metric]:
    for name, value, low, high, n in _figures(tallies, z):
        yield Metric(run_id, corpus, name, value, low, high, n)


Figure = tuple[str, float | None, float | None, float | None, int]


def _figures(tallies: pl.DataFrame, z: float) -> Iterator[Figure]:
    yield from _documents(_counts(tallies, "documents"))
    yield from _pair_counts(tallies.filter(measure="pairs"))
    yield from _verdicts(tallies.filter(measure="pairs"), z)
    yield from _quote_figures(_counts(tallies, "quotes"))
    yield from _work_figures(_counts(tallies, "works"))
    sources = _counts(tallies, "sources")
    yield _exact("sources", sources["source"])
    yield _share("effective_sources_share", sources["source"] - sources["repeat"], sources["source"])
    markers = _counts(tallies, "markers")
    yield _exact("markers", markers.total())
    yield _share("markers_unsupported_share", markers["unsupported-style"], markers.total())


def _counts(tallies: pl.DataFrame, measure: str) -> Counter[str | None]:
    counts: Counter[str | None] = Counter()
    for value, n in tallies.filter(measure=measure).select("value", "n").iter_rows():
        counts[value] += n
    return counts


def _exact(name: str, count: int) -> Figure:
    return name, float(count), float(count), float(count), count


def _share(name: str, part: int, whole: int) -> Figure:
    share = part / whole if whole else None
    return name, share, share, share, whole


def _documents(states: Counter[str | None]) -> Iterator[Figure]:
    yield _exact("documents", states.total())
    for state in ("passed", "failed", "not-verified"):
        yield _share(f"documents_{state.replace('-', '_')}_share", states[state], states.total())


def _pair_counts(pairs: pl.DataFrame) -> Iterator[Figure]:
    total = int(pairs["n"].sum())
    outcomes: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for stratum, value, n in pairs.select("stratum", "value", "n").iter_rows():
        if stratum in ("auto-passed", "dangling"):
            outcomes[stratum.replace("-", "_")] += n
        elif value is not None and value.startswith("unread:"):
            outcomes["not_checked"] += n
            reasons[value.removeprefix("unread:")] += n
        else:
            outcomes["checked"] += n
    yield _exact("pairs", total)
    for outcome in ("auto_passed", "checked", "not_checked", "dangling"):
        yield _share(f"pairs_{outcome}_share", outcomes[outcome], total)
    for reason in sorted(reasons):
        yield _share(f"not_checked_share:{reason}", reasons[reason], total)


def _verdicts(pairs: pl.DataFrame, z: float) -> Iterator[Figure]:
    for verdict in VERDICTS:
        yield from _estimated(f"{verdict.replace('-', '_')}_share", pairs, verdict, z)
    yield from _estimated("contradicted_share", pairs, "contradicted", z)


def _estimated(name: str, pairs: pl.DataFrame, wanted: str, z: float) -> Iterator[Figure]:
    strata = _strata(pairs, wanted)
    read = [s for s in strata if s.graded]
    readable = [(s.size * s.graded / s.selected, s.hits, s.graded, _drawn(s)) for s in read]
    value, low, high = combined(readable, z)
    yield name, value, low, high, sum(s.graded for s in read)
    drawn = [s for s in strata if s.selected]
    unknown = sum(s.size for s in strata if not s.selected)
    size = sum(s.size for s in strata)
    least = [(s.size, s.hits, s.selected, _drawn(s)) for s in drawn]
    lowest = combined([*least, (unknown, 0, 1, 1.0)], z)[1]
    highest = combined([*((s.size, s.hits + s.unread, s.selected, _drawn(s)) for s in drawn), (unknown, 1, 1, 1.0)], z)[
        2
    ]
    yield f"{name}_bounds", None, lowest, highest, size


def _drawn(stratum: Stratum) -> float:
    return stratum.selected / stratum.size


def _strata(pairs: pl.DataFrame, wanted: str) -> list[Stratum]:
    """The strata of pairs with a source. Uncheckable pairs are one in which nothing was drawn."""
    strata: dict[tuple[str, str, float], Counter[str]] = {}
    rows = pairs.filter(pl.col("stratum") != "dangling").select("corpus", "stratum", "probability", "value", "n")
    for corpus, stratum, probability, value, n in rows.iter_rows():
        counts = strata.setdefault((corpus, stratum, probability or 0.0), Counter())
        counts["size"] += n
        if stratum == "auto-passed":
            counts["selected"] += n
            counts["hits"] += n if wanted == "supported" else 0
        elif stratum != "uncheckable" and value != "unread:not-selected":
            counts["selected"] += n
            counts["unread"] += n if value.startswith("unread:") else 0
            counts["hits"] += n if wanted in value.split(" ") else 0
    return [Stratum(c["size"], c["selected"], c["hits"], c["unread"]) for _, c in sorted(strata.items())]


def combined(
    parts: Sequence[tuple[float, int, int, float]], z: float
) -> tuple[float | None, float | None, float | None]:
    """Weighted share over strata (weight, hits, read, share drawn) with its interval; Nones when nothing was read."""
    whole = sum(weight for weight, *_ in parts)
    if not whole:
        return None, None, None
    value = below = above = 0.0
    for weight, hits, read, drawn in parts:
        share = hits / read
        low, high = wilson(share, math.inf if drawn >= 1 else read / (1 - drawn), z)
        value += weight / whole * share
        below += (weight / whole * (share - low)) ** 2
        above += (weight / whole * (high - share)) ** 2
    return value, max(0.0, value - math.sqrt(below)), min(1.0, value + math.sqrt(above))


def wilson(share: float, n: float, z: float) -> tuple[float, float]:
    """Wilson's score interval of a share seen in n independent draws; no width for n = inf."""
    if math.isinf(n):
        return share, share
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return min(share, max(0.0, centre - half)), max(share, min(1.0, centre + half))


def _quote_figures(statuses: Counter[str | None]) -> Iterator[Figure]:
    total = statuses.total()
    examined = total - statuses["not-checked"]
    yield _exact("quotes", total)
    yield _share("quotes_verified_share", statuses["verified"], examined)
    yield _share("quotes_altered_share", statuses["altered"], examined)
    yield _share("quotes_not_found_share", statuses["not-found"] + statuses["misattributed"], examined)
    yield _share("quotes_misattributed_share", statuses["misattributed"], examined)
    yield _share("quotes_not_checked_share", statuses["not-checked"], total)


def _work_figures(statuses: Counter[str | None]) -> Iterator[Figure]:
    total = statuses.total()
    known = total - statuses["unavailable"] - statuses["unchecked"]
    yield _exact("works", total)
    yield _share("works_retracted_share", statuses["retracted"] + statuses["retracted-unacknowledged"], known)
    yield _share("works_concern_share", statuses["expression-of-concern"], known)
    yield _share("works_corrected_share", statuses["corrected"], known)
    yield _share("works_unknown_share", statuses["unavailable"] + statuses["unchecked"], total)
    yield _exact("retracted_unacknowledged", statuses["retracted-unacknowledged"])
