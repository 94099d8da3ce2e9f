-- says: Citations whose claim stands in another source of the document: what to swap for what.
-- grain: (claim, target)
-- key: pair_id
-- asks: the editor: which pointers can be repaired without reading?
-- columns:
--   corpus, document_id: as in documents
--   pair_id, sentence: as in pair_states
--   cited: Id of the source that is cited.
--   correct: Id of the source that says it.
--   correct_url: Address of that source.
--   evidence: as in pair_states
SELECT
    o.corpus,
    o.document_id,
    o.pair_id,
    o.sentence,
    o.source_id AS cited,
    s.source_id AS correct,
    s.url AS correct_url,
    o.evidence
FROM pair_outcomes AS o
LEFT JOIN sources AS s ON s.source_key = o.correct_source_key
WHERE o.verdict = 'wrong-source'
ORDER BY o.corpus, o.document_id, o.pair_index
