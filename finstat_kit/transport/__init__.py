"""What carries requests to a register and brings back the replies."""
