-- says: How citations came out by corpus, host, page, source and week, and which share of them fails.
-- grain: (dimension, member)
-- key: dimension, member
-- asks: the other views; filter on dimension, which leaves the rest uncounted
-- columns:
--   dimension: corpus, week, host, page or source.
--   member: The corpus, first day of the week, host, page or source_key; null where there is none.
--   pairs: Pairs of a claim and a cited target.
--   auto_passed: Pairs that passed without a reader.
--   checked: Pairs that a checker graded.
--   not_checked: Pairs with a source that nobody graded.
--   dangling: Pairs whose target has no source.
--   supported: Graded supported.
--   partially_supported: Graded partially-supported.
--   unsupported: Graded unsupported.
--   wrong_source: Graded wrong-source.
--   contradicted: Pairs whose source says otherwise.
--   failed_share: Estimated share of unsupported and wrong-source among pairs that can be read; null when none was.
--   failed_low: Lower end of its 95 % interval, as the sampling leaves it; no width where all was read.
--   failed_high: Upper end.
--   failed_least: Least share among all pairs with a source, if every unread one is fine.
--   failed_most: Largest, if every unread one fails.
WITH placed AS (
    SELECT
        p.*,
        d.corpus,
        CAST(CAST(date_trunc('week', d.date) AS DATE) AS VARCHAR) AS week,
        a.page,
        a.host
    FROM pair_states AS p
    JOIN documents AS d USING (document_key)
    LEFT JOIN source_addresses AS a ON a.source_key = p.source_key
),

members AS (
    SELECT 'corpus' AS dimension, corpus AS member, * FROM placed
    UNION ALL
    SELECT 'week', week, * FROM placed
    UNION ALL
    SELECT 'source', source_key, * FROM placed WHERE source_key IS NOT NULL
    UNION ALL
    SELECT 'page', page, * FROM placed WHERE source_key IS NOT NULL
    UNION ALL
    SELECT 'host', host, * FROM placed WHERE source_key IS NOT NULL
),

-- Pairs that were drawn together: all of those that passed without a reader, none of those that nobody could read.
strata AS (
    SELECT
        dimension,
        member,
        count(*) AS pairs,
        count(*) FILTER (WHERE outcome = 'auto-passed') AS auto_passed,
        count(*) FILTER (WHERE outcome = 'checked') AS checked,
        count(*) FILTER (WHERE outcome = 'not-checked') AS not_checked,
        count(*) FILTER (WHERE outcome = 'dangling') AS dangling,
        count(*) FILTER (WHERE outcome = 'checked' AND verdict = 'supported') AS supported,
        count(*) FILTER (WHERE outcome = 'checked' AND verdict = 'partially-supported') AS partially_supported,
        count(*) FILTER (WHERE outcome = 'checked' AND verdict = 'unsupported') AS unsupported,
        count(*) FILTER (WHERE outcome = 'checked' AND verdict = 'wrong-source') AS wrong_source,
        count(*) FILTER (WHERE contradicted) AS contradicted,
        count(*) FILTER (WHERE outcome <> 'dangling') AS size,
        count(*) FILTER (
            WHERE outcome IN ('auto-passed', 'checked')
            OR (outcome = 'not-checked' AND stratum IS NOT NULL AND reason <> 'not-selected')
        ) AS drawn
    FROM members
    GROUP BY
        dimension,
        member,
        corpus,
        outcome IN ('auto-passed', 'dangling'),
        CASE WHEN outcome IN ('auto-passed', 'dangling') THEN outcome ELSE stratum END,
        probability
),

-- As in `metrics`: what was drawn stands for its stratum; least and most take the unread pairs as fine and as failed.
parts AS (
    SELECT
        dimension,
        member,
        unnest(
            [
                {
                    'kind': 'likely',
                    'weight': CASE WHEN auto_passed + checked > 0 THEN size * (auto_passed + checked) / drawn END,
                    'share': (unsupported + wrong_source) / (auto_passed + checked),
                    'n': CASE WHEN drawn < size THEN (auto_passed + checked) / (1 - drawn / size) END
                },
                {
                    'kind': 'least',
                    'weight': CAST(size AS DOUBLE),
                    'share': CASE WHEN drawn > 0 THEN (unsupported + wrong_source) / drawn ELSE 0 END,
                    'n': CASE WHEN drawn BETWEEN 1 AND size - 1 THEN drawn / (1 - drawn / size) END
                },
                {
                    'kind': 'most',
                    'weight': CAST(size AS DOUBLE),
                    'share': CASE
                        WHEN drawn > 0 THEN (unsupported + wrong_source + drawn - auto_passed - checked) / drawn
                        ELSE 1
                    END,
                    'n': CASE WHEN drawn BETWEEN 1 AND size - 1 THEN drawn / (1 - drawn / size) END
                }
            ],
            recursive := true
        )
    FROM strata
    WHERE size > 0
),

-- Wilson's 95 % interval in each stratum (z = 1.96); no width where all of it was drawn.
centred AS (
    SELECT
        *,
        (share + 3.841458820694124 / (2 * n)) / (1 + 3.841458820694124 / n) AS centre,
        1.959963984540054 / (1 + 3.841458820694124 / n)
        * sqrt(share * (1 - share) / n + 3.841458820694124 / (4 * n * n)) AS half
    FROM parts
    WHERE weight > 0
),

spread AS (
    SELECT
        *,
        CASE WHEN n IS NULL THEN share ELSE least(share, greatest(0, centre - half)) END AS low,
        CASE WHEN n IS NULL THEN share ELSE greatest(share, least(1, centre + half)) END AS high
    FROM centred
),

-- Strata together by the square-and-add rule.
combined AS (
    SELECT
        dimension,
        member,
        kind,
        sum(weight * share) / sum(weight) AS share,
        sqrt(sum(pow(weight * (share - low), 2))) / sum(weight) AS down,
        sqrt(sum(pow(weight * (high - share), 2))) / sum(weight) AS up
    FROM spread
    GROUP BY dimension, member, kind
),

estimated AS (
    SELECT
        dimension,
        member,
        max(share) FILTER (WHERE kind = 'likely') AS failed_share,
        max(greatest(0, share - down)) FILTER (WHERE kind = 'likely') AS failed_low,
        max(least(1, share + up)) FILTER (WHERE kind = 'likely') AS failed_high,
        max(greatest(0, share - down)) FILTER (WHERE kind = 'least') AS failed_least,
        max(least(1, share + up)) FILTER (WHERE kind = 'most') AS failed_most
    FROM combined
    GROUP BY dimension, member
),

counted AS (
    SELECT
        dimension,
        member,
        sum(pairs)::BIGINT AS pairs,
        sum(auto_passed)::BIGINT AS auto_passed,
        sum(checked)::BIGINT AS checked,
        sum(not_checked)::BIGINT AS not_checked,
        sum(dangling)::BIGINT AS dangling,
        sum(supported)::BIGINT AS supported,
        sum(partially_supported)::BIGINT AS partially_supported,
        sum(unsupported)::BIGINT AS unsupported,
        sum(wrong_source)::BIGINT AS wrong_source,
        sum(contradicted)::BIGINT AS contradicted
    FROM strata
    GROUP BY dimension, member
)

SELECT
    c.*,
    e.failed_share,
    e.failed_low,
    e.failed_high,
    e.failed_least,
    e.failed_most
FROM counted AS c
LEFT JOIN estimated AS e ON e.dimension = c.dimension AND e.member IS NOT DISTINCT FROM c.member
ORDER BY c.dimension, c.member
