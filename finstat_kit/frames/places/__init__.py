"""Places: labels of codes, the locations, names matched with codes."""
