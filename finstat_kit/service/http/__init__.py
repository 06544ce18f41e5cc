"""The embedded register's addresses, as a function, an ASGI application and a server."""
