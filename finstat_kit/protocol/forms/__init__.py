"""The forms of reports: rows, columns, sums."""
