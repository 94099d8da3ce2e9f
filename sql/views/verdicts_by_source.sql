-- says: For each cited source, how its citations came out. Shares are of graded pairs; unread ones are counted apart.
-- grain: source that some pair cites
-- key: source_key
-- asks: the analyst
SELECT
    s.corpus,
    s.source_key,
    s.source_id,
    s.document_id,
    s.title,
    s.url,
    s.status,
    count(*) AS pairs,
    count(*) FILTER (WHERE o.outcome = 'auto-passed') AS auto_passed,
    count(*) FILTER (WHERE o.outcome = 'checked') AS checked,
    count(*) FILTER (WHERE o.outcome = 'not-checked') AS not_checked,
    count(*) FILTER (WHERE o.outcome = 'checked' AND o.verdict = 'supported') AS supported,
    count(*) FILTER (WHERE o.outcome = 'checked' AND o.verdict = 'partially-supported') AS partially_supported,
    count(*) FILTER (WHERE o.outcome = 'checked' AND o.verdict = 'unsupported') AS unsupported,
    count(*) FILTER (WHERE o.outcome = 'checked' AND o.verdict = 'wrong-source') AS wrong_source,
    count(*) FILTER (WHERE o.contradicted) AS contradicted
FROM pair_outcomes AS o
JOIN sources AS s USING (source_key)
GROUP BY ALL
ORDER BY s.corpus, s.source_id, s.source_key
