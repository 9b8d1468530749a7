"""What acts on a cluster: the control loops that stand in for those of Kubernetes."""
