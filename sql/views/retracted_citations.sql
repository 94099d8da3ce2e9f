-- says: Documents that cite a work while it reads as retracted, and whether they cited it before the notice or after.
-- grain: (document, cited work, run of days on which it reads as retracted)
-- key: document_key, work_id, retracted_from
-- asks: the integrity officer: which documents are affected, since when?
WITH ordered AS (
    SELECT
        *,
        valid_from IS DISTINCT FROM lag(valid_to) OVER works OR lag(status) OVER works != 'retracted' AS begins,
        row_number() OVER works = 1 AS first_look
    FROM doi_statuses
    WINDOW works AS (PARTITION BY work_id ORDER BY valid_from)
),
numbered AS (
    SELECT *, count(*) FILTER (WHERE begins) OVER (PARTITION BY work_id ORDER BY valid_from) AS run
    FROM ordered
    WHERE status = 'retracted'
),
retracted AS (
    SELECT
        work_id,
        min(valid_from) AS retracted_from,
        nullif(max(coalesce(valid_to, DATE 'infinity')), DATE 'infinity') AS retracted_to,
        bool_or(first_look) AS first_look,
        arg_max(struct_pack(date, notice_url, flags, registers, stale), valid_from) AS last
    FROM numbered
    GROUP BY work_id, run
)
SELECT
    d.corpus,
    d.document_id,
    d.title,
    d.date AS document_date,
    m.document_key,
    m.work_id,
    m.doi,
    r.retracted_from,
    r.retracted_to,
    r.first_look,
    r.last.date AS notice_date,
    r.last.notice_url AS notice_url,
    r.last.flags AS flags,
    r.last.registers AS registers,
    r.last.stale AS stale,
    CASE
        WHEN d.date IS NULL OR r.last.date IS NULL THEN 'unknown'
        WHEN d.date < r.last.date THEN 'before'
        WHEN d.date > r.last.date THEN 'after'
        ELSE 'same-day'
    END AS cited_when,
    m.cited OR m.start IS NOT NULL AS cited,
    m.noted_in_document,
    NOT m.noted_in_document AND (m.cited OR m.start IS NOT NULL) AS blocks
FROM retracted AS r
JOIN doi_mentions AS m USING (work_id)
JOIN documents AS d USING (document_key)
ORDER BY d.corpus, d.document_id, m.work_id, r.retracted_from
