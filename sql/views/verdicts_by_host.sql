-- says: The same by host of the source's address, over all corpora; sources without an address are one row (null).
-- grain: host
-- key: host
-- asks: the analyst
WITH hosted AS (
    SELECT
        *,
        nullif(
            regexp_replace(
                lower(regexp_extract(url, '^[A-Za-z][A-Za-z0-9+.-]*://(?:[^/?#@]*@)?([^/:?#]+)', 1)), '^www\.', ''
            ),
            ''
        ) AS host
    FROM verdicts_by_source
)

SELECT
    host,
    count(*) AS sources,
    sum(pairs)::BIGINT AS pairs,
    sum(auto_passed)::BIGINT AS auto_passed,
    sum(checked)::BIGINT AS checked,
    sum(not_checked)::BIGINT AS not_checked,
    sum(supported)::BIGINT AS supported,
    sum(partially_supported)::BIGINT AS partially_supported,
    sum(unsupported)::BIGINT AS unsupported,
    sum(wrong_source)::BIGINT AS wrong_source
FROM hosted
GROUP BY host
ORDER BY pairs DESC, host NULLS LAST
