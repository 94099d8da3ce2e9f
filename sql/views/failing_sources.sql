-- says: Sources whose citations fail most, over all documents that cite the same page; most failures first.
-- grain: page with at least one failed citation
-- key: page
-- asks: the analyst: which sources fail most?
-- columns:
--   page: as in source_addresses
--   corpus: Corpus of one of its sources.
--   source_id: Id of one of its sources.
--   title: Title of one of its sources.
--   url: Address of one of its sources.
--   sources: Rows of `sources` with this page.
--   failed: Pairs graded unsupported or wrong-source.
--   settled: Pairs that passed without a reader or were graded.
--   failed_share, failed_low, failed_high, failed_least, failed_most, pairs, not_checked: as in verdicts_by
WITH named AS (
    SELECT
        a.page,
        any_value(s.corpus ORDER BY s.source_key) AS corpus,
        any_value(s.source_id ORDER BY s.source_key) AS source_id,
        any_value(s.title ORDER BY s.source_key) AS title,
        any_value(s.url ORDER BY s.source_key) AS url,
        count(*) AS sources
    FROM sources AS s
    JOIN source_addresses AS a USING (source_key)
    GROUP BY a.page
)

SELECT
    v.member AS page,
    n.corpus,
    n.source_id,
    n.title,
    n.url,
    n.sources,
    v.unsupported + v.wrong_source AS failed,
    v.auto_passed + v.checked AS settled,
    v.failed_share,
    v.failed_low,
    v.failed_high,
    v.failed_least,
    v.failed_most,
    v.pairs,
    v.not_checked
FROM verdicts_by AS v
JOIN named AS n ON n.page = v.member
WHERE v.dimension = 'page' AND v.unsupported + v.wrong_source > 0
ORDER BY failed DESC, v.failed_share DESC, page
