"""Real clients against the embedded API server: kubectl, the Python client, client-go."""
