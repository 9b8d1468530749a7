"""pytest-dra: conformance tests for Kubernetes Dynamic Resource Allocation drivers."""

__version__ = "0.1.0"
