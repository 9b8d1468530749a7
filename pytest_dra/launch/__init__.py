"""Runs driver processes so that none of them, and nothing they made, outlives pytest."""

from pytest_dra.launch.component import Component
from pytest_dra.launch.component import parse_command_line
from pytest_dra.launch.directories import NodeDirectories
from pytest_dra.launch.driver import Driver
from pytest_dra.launch.driver import EarlyExit
from pytest_dra.launch.error import LaunchError
from pytest_dra.launch.jail import Jail
from pytest_dra.launch.process import Keeper
from pytest_dra.launch.process import Process

__all__ = [
    "Component",
    "Driver",
    "EarlyExit",
    "Jail",
    "Keeper",
    "LaunchError",
    "NodeDirectories",
    "Process",
    "parse_command_line",
]
