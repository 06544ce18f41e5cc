"""The register for assistants."""
