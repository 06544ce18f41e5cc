"""A local copy of a register on Delta Lake, kept in step with it."""
