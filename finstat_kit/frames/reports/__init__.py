"""What is inside reports: forms, cells, sums, files, the printed form."""
