"""Units of a list of the user's own, matched with those of the register."""
