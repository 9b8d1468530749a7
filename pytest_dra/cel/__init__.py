"""The CEL environment of Kubernetes' device selectors: compile, cost and evaluate them.

Exact in result, error class and cost against the Go package of Kubernetes 1.34 to 1.37.
Standard library and RE2 only. See ``environment`` for what a release offers, ``program`` for the
compiler, ``devices`` for the input and ``selector`` for evaluation over many devices.
"""
