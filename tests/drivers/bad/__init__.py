"""Drivers that are wrong in ways that must not stop, mislead or dirty a run of the suite."""
