-- says: Quotations that do not stand in the cited source as written, with the nearest words found.
-- grain: quoted span that is altered or not found
-- key: quote_id
-- asks: the operator and the analyst
-- columns:
--   corpus, document_id: as in documents
--   quote_id: as in quotes
--   document_key: as in documents
--   status: as in quotes
--   misattributed: Whether the words stand in another source of the document.
--   quote, closest_span, edit_distance, edits: as in quotes
--   source_id: Id of the source that is cited.
--   found_in_source_id: Id of the other source that holds the words.
--   start: as in quotes
SELECT
    d.corpus,
    d.document_id,
    q.quote_id,
    q.document_key,
    q.status,
    q.found_in_source_key IS NOT NULL AS misattributed,
    q.quote,
    q.closest_span,
    q.edit_distance,
    q.edits,
    s.source_id,
    f.source_id AS found_in_source_id,
    q.start
FROM quotes AS q
JOIN documents AS d USING (document_key)
LEFT JOIN sources AS s ON s.source_key = q.source_key
LEFT JOIN sources AS f ON f.source_key = q.found_in_source_key
WHERE q.status IN ('altered', 'not-found')
ORDER BY d.corpus, d.document_id, q.start
