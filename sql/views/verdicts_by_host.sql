-- says: How citations came out by host of the source's address; sources without an address are one row (null).
-- grain: host
-- key: host
-- asks: the analyst
-- columns:
--   host: as in source_addresses
--   sources: Sources of that host that some pair cites.
--   pairs, auto_passed, checked, not_checked, supported, partially_supported, unsupported: as in verdicts_by
--   wrong_source, contradicted, failed_share, failed_low, failed_high, failed_least, failed_most: as in verdicts_by
WITH cited AS (
    SELECT host, count(*) AS sources
    FROM source_addresses
    WHERE source_key IN (SELECT source_key FROM pairs)
    GROUP BY host
)

SELECT v.member AS host, c.sources, v.* EXCLUDE (dimension, member, dangling)
FROM verdicts_by AS v
JOIN cited AS c ON c.host IS NOT DISTINCT FROM v.member
WHERE v.dimension = 'host'
ORDER BY v.pairs DESC, host NULLS LAST
