-- says: Sources that are one voice, named, in the scope of a document or (document_key null) of the whole archive.
-- grain: source in a cluster
-- key: cluster_id, source_key
-- asks: the analyst
-- columns:
--   document_key: as in clusters
--   corpus, document_id: as in documents
--   cluster_id, kind: as in clusters
--   is_root: Whether the member is the root: the voice that the others repeat.
--   source_key, source_id, title, url, published_at: as in sources
--   similarity, weakest_link: as in clusters
SELECT
    c.document_key,
    d.corpus,
    d.document_id,
    c.cluster_id,
    c.kind,
    c.source_key = c.root AS is_root,
    c.source_key,
    s.source_id,
    s.title,
    s.url,
    s.published_at,
    c.similarity,
    c.weakest_link
FROM clusters AS c
LEFT JOIN documents AS d USING (document_key)
LEFT JOIN sources AS s ON s.source_key = c.source_key
ORDER BY d.corpus NULLS LAST, d.document_id, c.cluster_id, is_root DESC, s.source_id
