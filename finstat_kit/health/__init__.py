"""Health check of a register."""
