"""The embedded register: the same service in this process or behind a URL."""
