"""What pickers show beside their controls."""
