"""A local copy of a register on Delta Lake, kept in step with it."""

from finstat_kit.errors import UsageError

try:
    import deltalake
    import filelock
except ImportError as error:
    raise UsageError("a mirror needs more", cure="pip install 'finstat-kit[mirror]'") from error
del deltalake, filelock
