"""The invented filings: which there are, their records and their figures."""
