-- says: Strong claims (with a number or a strong word) that nobody read, with the reason.
-- grain: (claim, target)
-- key: pair_id
-- asks: the operator: what did the night leave open that matters?
-- columns:
--   corpus, document_id: as in documents
--   pair_id, claim: as in pair_states
--   source_id: as in sources
--   reason: as in pair_states
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
