"""The driver profile: what a vendor says about a driver in ``dra-profile.yaml``.

:func:`load_profile` reads one, :data:`DEFAULT_PROFILE` holds where there is none. Neither PyYAML
nor jsonschema is imported before a file is read.
"""

from __future__ import annotations

from pytest_dra.profile.applicability import feature_applies
from pytest_dra.profile.applicability import missing_inputs
from pytest_dra.profile.applicability import not_applicable
from pytest_dra.profile.applicability import unasked
from pytest_dra.profile.model import API_VERSION
from pytest_dra.profile.model import DEFAULT_PROFILE
from pytest_dra.profile.model import KIND
from pytest_dra.profile.model import PLACEHOLDERS
from pytest_dra.profile.model import Budgets
from pytest_dra.profile.model import Component
from pytest_dra.profile.model import DriverProfile
from pytest_dra.profile.model import Hardware
from pytest_dra.profile.model import Injection
from pytest_dra.profile.model import Scope
from pytest_dra.profile.model import VersionRange
from pytest_dra.profile.model import Waiver
from pytest_dra.profile.problems import Problem
from pytest_dra.profile.problems import ProfileError
from pytest_dra.profile.reading import load_profile

__all__ = [
    "API_VERSION",
    "DEFAULT_PROFILE",
    "KIND",
    "PLACEHOLDERS",
    "Budgets",
    "Component",
    "DriverProfile",
    "Hardware",
    "Injection",
    "Problem",
    "ProfileError",
    "Scope",
    "VersionRange",
    "Waiver",
    "feature_applies",
    "load_profile",
    "missing_inputs",
    "not_applicable",
    "unasked",
]
