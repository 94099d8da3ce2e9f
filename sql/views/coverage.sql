-- says: How much of each corpus was really read, and why the rest was not; the counts sum up to its pairs.
-- grain: (corpus, outcome, reason)
-- key: corpus, outcome, reason
-- asks: the analyst
-- columns:
--   corpus: as in documents
--   outcome, reason: as in pair_states
--   pairs: Pairs.
--   documents: Documents with such a pair.
--   share: Of the corpus's pairs.
SELECT
    corpus,
    outcome,
    p.reason,
    count(*) AS pairs,
    count(DISTINCT document_key) AS documents,
    count(*) / sum(count(*)) OVER (PARTITION BY corpus) AS share
FROM pair_states AS p
JOIN documents AS d USING (document_key)
GROUP BY corpus, outcome, p.reason
ORDER BY corpus, outcome, p.reason NULLS FIRST
