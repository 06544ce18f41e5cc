"""The charts, one module each."""
