"""The content of reports: forms, cells, sums, files, the printed form."""
