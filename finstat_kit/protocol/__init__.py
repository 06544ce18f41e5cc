"""The register's rules and spellings: pure functions and values, without any request."""
