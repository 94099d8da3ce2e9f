-- says: Pairs of each corpus by outcome and verdict; the counts of a corpus sum up to its pairs.
-- grain: (corpus, outcome, verdict)
-- key: corpus, outcome, verdict
-- asks: the analyst
SELECT
    corpus,
    outcome,
    verdict,
    count(*) AS pairs,
    count(*) FILTER (WHERE contradicted) AS contradicted,
    count(*) / sum(count(*)) OVER (PARTITION BY corpus) AS share
FROM pair_states
JOIN documents USING (document_key)
GROUP BY corpus, outcome, verdict
ORDER BY corpus, outcome, verdict NULLS LAST
