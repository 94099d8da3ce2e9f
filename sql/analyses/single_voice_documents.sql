-- says: Documents whose several sources are one voice, or nearly: at most this share of them is independent.
-- grain: document
-- key: document_key
-- asks: the analyst: which documents only look well supported?
-- params: share = 0.8
-- columns:
--   corpus, document_id, document_key: as in documents
--   sources, effective_sources: as in independence
--   independent_share: effective_sources / sources.
SELECT
    corpus,
    document_id,
    document_key,
    sources,
    effective_sources,
    effective_sources / sources AS independent_share
FROM independence
WHERE sources > 1 AND effective_sources / sources <= $share
ORDER BY independent_share, sources DESC, document_key
