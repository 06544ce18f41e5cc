"""The folder of a mirror: data files, the runs that list them, and how both are written."""
