"""Programs for the command line; they may use every layer below."""
