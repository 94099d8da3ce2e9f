-- says: How the citations of each corpus came out; the four outcomes sum up to its pairs.
-- grain: corpus
-- key: corpus
-- asks: the analyst
-- columns:
--   corpus: as in documents
--   pairs, auto_passed, checked, not_checked, dangling, supported, partially_supported, unsupported: as in verdicts_by
--   wrong_source, contradicted, failed_share, failed_low, failed_high, failed_least, failed_most: as in verdicts_by
SELECT member AS corpus, * EXCLUDE (dimension, member)
FROM verdicts_by
WHERE dimension = 'corpus'
ORDER BY corpus
