"""Whether a register can be used."""
