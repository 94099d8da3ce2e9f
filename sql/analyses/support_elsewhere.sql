-- says: Pairs and quotations whose support stands in another document's source of the archive.
-- grain: (pair or quotation, source elsewhere)
-- key: document_key, pair_id, quote_id, source_key
-- asks: the editor: is there a source in the archive that does say it?
-- columns:
--   corpus, document_id, document_key: as in documents
--   pair_id, quote_id: as in found_elsewhere
--   words: The claim or the quotation.
--   source_key: as in found_elsewhere
--   source_id: as in sources
--   stands_with_document: Id of the document that the source belongs to; null when shared by the corpus.
--   url: as in sources
--   evidence, score: as in found_elsewhere
SELECT
    d.corpus,
    d.document_id,
    f.document_key,
    f.pair_id,
    f.quote_id,
    coalesce(p.claim, q.quote) AS words,
    f.source_key,
    s.source_id,
    s.document_id AS stands_with_document,
    s.url,
    f.evidence,
    f.score
FROM found_elsewhere AS f
JOIN documents AS d USING (document_key)
LEFT JOIN pairs AS p ON p.pair_id = f.pair_id
LEFT JOIN quotes AS q ON q.quote_id = f.quote_id
LEFT JOIN sources AS s ON s.source_key = f.source_key
ORDER BY f.score DESC, d.corpus, d.document_id, f.pair_id, f.quote_id, f.source_key
