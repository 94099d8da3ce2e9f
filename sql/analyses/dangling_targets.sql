-- says: Cited targets without a source, by how often they are cited: what the archive fails to hold.
-- grain: (corpus, target)
-- key: corpus, target
-- asks: the operator: which sources are missing?
-- columns:
--   corpus: as in documents
--   target: as in pairs
--   pairs: Pairs that cite it.
--   documents: Documents that cite it.
--   reason: Why it has no source; of several reasons the first in order.
SELECT
    d.corpus,
    p.target,
    count(*) AS pairs,
    count(DISTINCT p.document_key) AS documents,
    min(p.reason) AS reason
FROM pairs AS p
JOIN documents AS d USING (document_key)
WHERE p.status = 'dangling'
GROUP BY d.corpus, p.target
ORDER BY pairs DESC, d.corpus, p.target
