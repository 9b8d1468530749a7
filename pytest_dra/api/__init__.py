"""What the Kubernetes API fixes about names, kinds, quantities and versions.

Nothing here talks to a server; the embedded API server, the checks and the fake driver share it.
"""
