-- says: The page and the host of each source: rows of several documents that cite one address share them.
-- grain: source
-- key: source_key
-- asks: the other views; the analyst who groups sources
-- columns:
--   source_key: as in sources
--   page: Canonical address; of a source without an address its source_key.
--   host: Host of the address, lower case, without `www.`; null without an address.
SELECT
    source_key,
    coalesce(canonical_url, source_key) AS page,
    nullif(
        regexp_replace(
            lower(regexp_extract(url, '^[A-Za-z][A-Za-z0-9+.-]*://(?:[^/?#@]*@)?([^/:?#]+)', 1)), '^www\.', ''
        ),
        ''
    ) AS host
FROM sources
