-- says: How the citations of each cited source came out. Unread ones are counted apart from graded ones.
-- grain: source that some pair cites
-- key: source_key
-- asks: the analyst
-- columns:
--   corpus, source_id, document_id, title, url, status, source_key: as in sources
--   pairs, auto_passed, checked, not_checked, supported, partially_supported, unsupported: as in verdicts_by
--   wrong_source, contradicted, failed_share, failed_low, failed_high, failed_least, failed_most: as in verdicts_by
SELECT
    s.corpus,
    s.source_id,
    s.document_id,
    s.title,
    s.url,
    s.status,
    v.member AS source_key,
    v.* EXCLUDE (dimension, member, dangling)
FROM verdicts_by AS v
JOIN sources AS s ON s.source_key = v.member
WHERE v.dimension = 'source'
ORDER BY s.corpus, s.source_id, s.source_key
