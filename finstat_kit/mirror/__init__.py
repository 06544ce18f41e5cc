"""A local copy of a register: data files named by their content, and one file per run."""
