-- says: Strong claims (with a number or a strong word) that nobody read, with the reason.
-- grain: (claim, target)
-- key: pair_id
-- asks: the operator: what did the night leave open that matters?
SELECT
    corpus,
    document_id,
    pair_id,
    claim,
    source_id,
    reason
FROM pair_outcomes
WHERE strong AND outcome = 'not-checked'
ORDER BY corpus, document_id, pair_index
