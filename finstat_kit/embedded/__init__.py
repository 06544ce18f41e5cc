"""The embedded register: the same service as the real one, in process or behind a socket."""
