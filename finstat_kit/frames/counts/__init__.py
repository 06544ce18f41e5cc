"""Counts by code: of frames, of two of them, of a sample."""
