"""The register's rules and spellings: pure functions and values, no request is made here."""
