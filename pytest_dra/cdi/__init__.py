"""CDI as a container runtime reads it: directories, spec files, names, edits.

The rules are those of the Go library (1.1.0 in containerd 2.3, 1.1.2 newest), not only those of
SPEC.md: a driver's file that no runtime loads is broken whatever the text says.
"""

from __future__ import annotations

from pytest_dra.cdi.errors import CRASH
from pytest_dra.cdi.errors import CdiError
from pytest_dra.cdi.errors import UnresolvedError
from pytest_dra.cdi.files import is_spec_name
from pytest_dra.cdi.host import HostNodes
from pytest_dra.cdi.injection import Injection
from pytest_dra.cdi.injection import apply
from pytest_dra.cdi.library import Library
from pytest_dra.cdi.library import containerds_library
from pytest_dra.cdi.names import QualifiedName
from pytest_dra.cdi.names import annotation_key
from pytest_dra.cdi.names import parse_annotations
from pytest_dra.cdi.names import parse_qualified_name
from pytest_dra.cdi.registry import DEFAULT_DIRECTORIES
from pytest_dra.cdi.registry import Registry
from pytest_dra.cdi.registry import SpecFile
from pytest_dra.cdi.registry import load
from pytest_dra.cdi.registry import load_file

__all__ = [
    "CRASH",
    "DEFAULT_DIRECTORIES",
    "CdiError",
    "HostNodes",
    "Injection",
    "Library",
    "QualifiedName",
    "Registry",
    "SpecFile",
    "UnresolvedError",
    "annotation_key",
    "apply",
    "containerds_library",
    "is_spec_name",
    "load",
    "load_file",
    "parse_annotations",
    "parse_qualified_name",
]
