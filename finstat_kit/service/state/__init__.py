"""What the embedded register holds, and what changes it."""
