"""Clusters: where the API server of a run comes from, behind one protocol."""
