"""The transport of requests to a register, and of its replies."""
