"""A driver's image at wire depth: its containers in the local engine, on a node of the bench."""
