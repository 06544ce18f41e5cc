"""What a user holds: the register, its collections and its codelists."""
