"""The conformance cases, one module per area; they import ``pytest_dra`` only, never each other."""
