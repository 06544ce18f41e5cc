"""The records of the register: their fields and how replies are decoded."""
