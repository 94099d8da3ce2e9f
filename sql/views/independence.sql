-- says: How many voices stand behind each document: its sources, the clusters among them, and what remains.
-- grain: document
-- key: document_key
-- asks: the analyst
-- columns:
--   corpus, document_id, document_key: as in documents
--   sources: The document's own sources.
--   clusters: Groups of them that are one voice.
--   effective_sources: sources minus the repeats inside clusters.
WITH own AS (
    SELECT document_key, count(*) AS sources
    FROM document_sources
    GROUP BY document_key
),

grouped AS (
    SELECT document_key, count(DISTINCT cluster_id) AS clusters, count(*) - count(DISTINCT cluster_id) AS repeats
    FROM clusters
    WHERE document_key IS NOT NULL
    GROUP BY document_key
)

SELECT
    d.corpus,
    d.document_id,
    d.document_key,
    coalesce(own.sources, 0) AS sources,
    coalesce(grouped.clusters, 0) AS clusters,
    coalesce(own.sources, 0) - coalesce(grouped.repeats, 0) AS effective_sources
FROM documents AS d
LEFT JOIN own USING (document_key)
LEFT JOIN grouped USING (document_key)
ORDER BY d.corpus, d.document_id
