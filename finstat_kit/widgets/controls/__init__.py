"""The controls that pickers are made of."""
