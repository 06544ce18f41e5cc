"""What the methods of a register do."""
