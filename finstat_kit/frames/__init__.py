"""Pure functions over frames."""
