"""Figures: which filing is taken, its items and ratios, one statement over years."""
