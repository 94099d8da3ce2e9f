-- says: Documents that cite a work while it reads as retracted, and whether they cited it before the notice or after.
-- grain: (document, cited work, run of days on which it reads as retracted)
-- key: document_key, work_id, retracted_from
-- asks: the integrity officer: which documents are affected, since when?
-- columns:
--   corpus, document_id, title: as in documents
--   document_date: Day of the document as it states it.
--   document_key: as in documents
--   work_id, doi: as in doi_mentions
--   retracted_from: First day on which the work reads as retracted.
--   retracted_to: First day on which it does not any more; null while it does.
--   first_look: Whether it read so when first looked at.
--   notice_date: Day of the notice, where the register gives one.
--   notice_url, flags, registers, stale: as in doi_statuses
--   cited_when: before, after or same-day, by the days of document and notice; unknown where one is missing.
--   cited: Whether a source or the text cites the work.
--   noted_in_document: as in doi_mentions
--   blocks: Whether it fails the document's gate: cited and not acknowledged.
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
