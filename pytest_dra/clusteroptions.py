"""Options that say where a driver is judged: which cluster, and what is put onto it.

Standard library only, as ``options``.
"""

from __future__ import annotations

from typing import Final

from pytest_dra.option import Option

CLUSTER_OPTIONS: Final = (
    Option(
        "--dra-cluster",
        "API server and node: embedded, apiserver, kind or kubeconfig[:CONTEXT]",
        "embedded",
        "CLUSTER",
    ),
    Option(
        "--dra-depth",
        "depths at which cases are judged: wire (round the driver's process), cluster (on a whole "
        "cluster), or wire,cluster for both in one run; by default that of --dra-cluster",
        "",
        "wire|cluster|wire,cluster",
    ),
    Option("--dra-kind", "the kind command", "kind", "PROGRAM"),
    Option(
        "--dra-engine",
        "container engine: docker or podman, or a path; by default the first of them on PATH",
        "",
        "PROGRAM",
    ),
    Option(
        "--dra-kind-image",
        "node image of a kind cluster, or a Kubernetes release (1.34.4) of which kind has one; by "
        "default kind's own",
        "",
        "IMAGE",
    ),
    Option(
        "--dra-kind-config",
        "configuration of a kind cluster, to which feature gates of the run are added, and API "
        "versions that these need",
        "",
        "FILE",
    ),
    Option(
        "--dra-kind-nodes",
        "nodes of a kind cluster; by default those of --dra-kind-config, or one",
        "",
        "N",
    ),
    Option("--dra-keep", "leave the kind cluster of the run, for --dra-reuse", "false", flag=True),
    Option(
        "--dra-reuse",
        "use a kind cluster that exists, and leave it; with --dra-keep one that is not there yet "
        "is made under this name",
        "",
        "NAME",
    ),
    Option(
        "--dra-node",
        "on a whole cluster: judge the driver's instance on this node, and none of another one; by "
        "default that of the first node with devices",
        "",
        "NODE",
    ),
    Option(
        "--dra-disruptive",
        "judge on a cluster of others also what disturbs them: restarts of drivers and nodes, "
        "taints, pools that are used up",
        "false",
        flag=True,
    ),
    Option(
        "--dra-dry-run",
        "list what a run may create on the cluster, and what it may disturb; create nothing",
        "false",
        flag=True,
    ),
    Option(
        "--dra-cleanup",
        "remove what runs have left that have ended: objects on the cluster of --dra-cluster, "
        "kind clusters, containers and networks; no test runs",
        "false",
        flag=True,
    ),
    Option(
        "--dra-manifests",
        "what is shipped with the driver, to be deployed on a cluster, or whose DaemonSet says how "
        "an image is run: YAML or a folder of it, a kustomize directory, or a Helm chart; by "
        "default the profile's manifests, else a DaemonSet with the usual rights and directories",
        "",
        "FILE|DIR|CHART",
    ),
    Option("--dra-helm-values", "values for the Helm chart of --dra-manifests", "", "FILE"),
    Option(
        "--dra-driver-previous",
        "image of the driver's previous release, for cases of updates: beside --dra-driver=IMAGE",
        "",
        "IMAGE",
    ),
    Option(
        "--dra-base-image",
        "image with Python that the bundled fake driver's is built on, for --dra-driver=fake",
        "python:3.11-slim",
        "IMAGE",
    ),
    Option(
        "--dra-pod-image",
        "image of the pods that use devices on a cluster: it has a shell and what the injection "
        "probe needs",
        "busybox:1.37",
        "IMAGE",
    ),
)
