-- says: How much of each corpus nobody read, and why: the share of its pairs by reason.
-- grain: (corpus, reason)
-- key: corpus, reason
-- asks: the analyst: how much of the archive was really read?
-- columns:
--   corpus: as in documents
--   reason: as in pair_states
--   pairs: Pairs that nobody read for this reason.
--   share_of_pairs: Of all pairs of the corpus.
--   strong_pairs: Of these pairs, strong claims.
SELECT
    corpus,
    reason,
    count(*) AS pairs,
    count(*) / any_value(total) AS share_of_pairs,
    count(*) FILTER (WHERE strong) AS strong_pairs
FROM (SELECT *, count(*) OVER (PARTITION BY corpus) AS total FROM pair_outcomes)
WHERE outcome = 'not-checked'
GROUP BY corpus, reason
ORDER BY corpus, pairs DESC, reason
