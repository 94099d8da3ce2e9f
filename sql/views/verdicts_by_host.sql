-- says: The same by host of the source's address, over all corpora; sources without an address are one row (null).
-- grain: host
-- key: host
-- asks: the analyst
SELECT
    nullif(regexp_replace(lower(regexp_extract(s.url, '^[A-Za-z][A-Za-z0-9+.-]*://(?:[^/?#@]*@)?([^/:?#]+)', 1)), '^www\.', ''), '') AS host,
    count(DISTINCT s.source_key) AS sources,
    count(DISTINCT o.document_key) AS documents,
    count(*) AS pairs,
    count(*) FILTER (WHERE o.outcome = 'auto-passed') AS auto_passed,
    count(*) FILTER (WHERE o.outcome = 'checked') AS checked,
    count(*) FILTER (WHERE o.outcome = 'not-checked') AS not_checked,
    count(*) FILTER (WHERE o.outcome = 'checked' AND o.verdict = 'supported') AS supported,
    count(*) FILTER (WHERE o.outcome = 'checked' AND o.verdict = 'partially-supported') AS partially_supported,
    count(*) FILTER (WHERE o.outcome = 'checked' AND o.verdict = 'unsupported') AS unsupported,
    count(*) FILTER (WHERE o.outcome = 'checked' AND o.verdict = 'wrong-source') AS wrong_source
FROM pair_outcomes AS o
JOIN sources AS s USING (source_key)
GROUP BY 1
ORDER BY pairs DESC, host NULLS LAST
