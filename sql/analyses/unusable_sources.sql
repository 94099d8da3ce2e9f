-- says: Sources whose text cannot be read, by reason, and how many pairs rest on them.
-- grain: (corpus, status, reason)
-- key: corpus, status, reason
-- asks: the operator: what should be fetched again?
-- columns:
--   corpus: as in documents
--   status, reason: as in sources
--   sources: Sources.
--   pairs: Pairs that rest on them.
--   documents: Documents with such a pair.
SELECT
    s.corpus,
    s.status,
    s.reason,
    count(DISTINCT s.source_key) AS sources,
    count(p.pair_id) AS pairs,
    count(DISTINCT p.document_key) AS documents
FROM sources AS s
LEFT JOIN pairs AS p USING (source_key)
WHERE s.status <> 'ok'
GROUP BY s.corpus, s.status, s.reason
ORDER BY pairs DESC, s.corpus, s.status, s.reason
