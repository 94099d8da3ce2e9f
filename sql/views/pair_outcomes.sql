-- says: Every pair with its one outcome, and the words of its document and source for themselves.
-- grain: (claim, target)
-- key: pair_id
-- asks: everyone; the base of most questions
-- columns:
--   corpus, document_id: as in documents
--   pair_id, document_key, source_key, pair_index, sentence, claim, marker, strong, outcome, reason: as in pair_states
--   verdict, contradicted, rule, selected, stratum, probability, severity, confidence, checker: as in pair_states
--   model, correct_source_key, evidence: as in pair_states
--   source_id, url: as in sources
SELECT
    d.corpus,
    d.document_id,
    p.*,
    s.source_id,
    s.url
FROM pair_states AS p
JOIN documents AS d USING (document_key)
LEFT JOIN sources AS s ON s.source_key = p.source_key
