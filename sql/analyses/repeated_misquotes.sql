-- says: Quotations that are altered or not found in more than one document: errors that travel.
-- grain: quotation (case and white space aside)
-- key: words
-- asks: the analyst: which false quotations spread?
-- columns:
--   words: The quotation in lower case, white space as single spaces.
--   documents: Documents that quote it so.
--   quotations: Quotations.
--   statuses: What was found of them.
--   closest_span: Nearest words of a cited source; of several the first in order.
SELECT
    lower(regexp_replace(trim(quote), '\s+', ' ', 'g')) AS words,
    count(DISTINCT document_key) AS documents,
    count(*) AS quotations,
    list(DISTINCT status ORDER BY status) AS statuses,
    min(closest_span) AS closest_span
FROM altered_quotes
GROUP BY words
HAVING count(DISTINCT document_key) > 1
ORDER BY documents DESC, words
