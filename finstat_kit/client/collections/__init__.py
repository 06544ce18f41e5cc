"""The four collections: their counts, ids, pages, records and scans."""
