"""Codes and places: labels, groups made from other columns, locations, names matched with codes."""
