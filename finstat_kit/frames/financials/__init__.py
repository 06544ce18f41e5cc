"""Figures: which filing is taken, its items, ratios and quartiles."""
