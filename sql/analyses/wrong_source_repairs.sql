-- says: Citations whose claim stands in another source of the document: what to swap for what.
-- grain: (claim, target)
-- key: pair_id
-- asks: the editor: which pointers can be repaired without reading?
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
