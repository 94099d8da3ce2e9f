-- says: How citations came out by the week of the document's own date; documents without a date are one row (null).
-- grain: week
-- key: week
-- asks: the analyst: is what we publish getting better?
-- columns:
--   week: First day (Monday) of the week of the documents' date.
--   pairs, auto_passed, checked, not_checked, dangling, supported, partially_supported, unsupported: as in verdicts_by
--   wrong_source, contradicted, failed_share, failed_low, failed_high, failed_least, failed_most: as in verdicts_by
SELECT CAST(member AS DATE) AS week, * EXCLUDE (dimension, member)
FROM verdicts_by
WHERE dimension = 'week'
ORDER BY week NULLS LAST
