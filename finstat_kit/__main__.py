"""``python -m finstat_kit`` is the command ``finstat-kit``."""

from finstat_kit.cli.commands import main

if __name__ == "__main__":  # a tool that imports all modules must not run it
    main()
