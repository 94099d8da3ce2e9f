-- says: The sources that most documents of a corpus rest on, by page rather than by row.
-- grain: (corpus, page)
-- key: corpus, page
-- asks: the analyst: what does the archive stand on?
-- params: limit = 20
-- columns:
--   corpus: as in documents
--   page: as in source_addresses
--   title: Title of one of its sources.
--   documents: Documents that cite it.
--   pairs: Pairs that cite it.
--   failed: Of these, graded unsupported or wrong-source.
SELECT
    corpus,
    page,
    any_value(title ORDER BY source_key) AS title,
    count(DISTINCT document_key) AS documents,
    count(*) AS pairs,
    count(*) FILTER (WHERE verdict IN ('unsupported', 'wrong-source')) AS failed
FROM (
    SELECT
        o.corpus,
        coalesce(s.canonical_url, s.url, s.source_key) AS page,
        s.title,
        s.source_key,
        o.document_key,
        o.verdict
    FROM pair_outcomes AS o
    JOIN sources AS s USING (source_key)
)
GROUP BY corpus, page
ORDER BY documents DESC, pairs DESC, corpus, page
LIMIT $limit
