"""Frames as files."""
