"""A published mirror: where it is, the pull of a copy, and random records beside a register."""
