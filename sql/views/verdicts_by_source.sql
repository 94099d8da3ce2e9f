-- says: For each cited source, how its citations came out. Unread ones are counted apart from graded ones.
-- grain: source that some pair cites
-- key: source_key
-- asks: the analyst
WITH counted AS (
    SELECT
        source_key,
        count(*) AS pairs,
        count(*) FILTER (WHERE outcome = 'auto-passed') AS auto_passed,
        count(*) FILTER (WHERE outcome = 'checked') AS checked,
        count(*) FILTER (WHERE outcome = 'not-checked') AS not_checked,
        count(*) FILTER (WHERE outcome = 'checked' AND verdict = 'supported') AS supported,
        count(*) FILTER (WHERE outcome = 'checked' AND verdict = 'partially-supported') AS partially_supported,
        count(*) FILTER (WHERE outcome = 'checked' AND verdict = 'unsupported') AS unsupported,
        count(*) FILTER (WHERE outcome = 'checked' AND verdict = 'wrong-source') AS wrong_source,
        count(*) FILTER (WHERE contradicted) AS contradicted
    FROM pair_states
    WHERE source_key IS NOT NULL
    GROUP BY source_key
)

SELECT
    s.corpus,
    s.source_id,
    s.document_id,
    s.title,
    s.url,
    s.status,
    c.*
FROM counted AS c
JOIN sources AS s USING (source_key)
ORDER BY s.corpus, s.source_id, s.source_key
