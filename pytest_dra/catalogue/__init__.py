"""The catalogue of conformance cases: what is demanded of a driver, as data.

``cases.json`` beside this module is the only source of a case's wording, level, sources and
dependencies; ``cases.schema.json`` describes its form. Reading it costs some milliseconds, so
nothing is read before the first call of :func:`catalogue`.
"""

from __future__ import annotations

from pytest_dra.catalogue.model import Area
from pytest_dra.catalogue.model import Catalogue
from pytest_dra.catalogue.model import ConformanceProfile
from pytest_dra.catalogue.model import Feature
from pytest_dra.catalogue.model import Retired
from pytest_dra.catalogue.names import did_you_mean
from pytest_dra.catalogue.reading import DATA
from pytest_dra.catalogue.reading import SCHEMA
from pytest_dra.catalogue.reading import catalogue
from pytest_dra.catalogue.reading import read_catalogue

__all__ = [
    "DATA",
    "SCHEMA",
    "Area",
    "Catalogue",
    "ConformanceProfile",
    "Feature",
    "Retired",
    "catalogue",
    "did_you_mean",
    "read_catalogue",
]
