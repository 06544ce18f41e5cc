"""The register for assistants, by the Model Context Protocol; needs the extra ``mcp``."""
