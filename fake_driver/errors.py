"""The two ways in which the driver says no: at its start, and for one claim."""

from __future__ import annotations

from typing import Final

EXIT_USAGE: Final = 2
"""Exit code of a wrong call, as argparse has it."""


class StartError(Exception):
    """Why the driver cannot run as it was called: one sentence for the user."""

    exit_code = EXIT_USAGE


class ClaimError(Exception):
    """Why one claim is not served: its text goes into the ``error`` of the claim's entry."""


class ConfigError(ClaimError):
    """The claim's own opaque configuration is bad."""


class UnknownDeviceError(ClaimError):
    """The claim holds a device that this driver does not have."""


class NotAllocatedError(ClaimError):
    """The claim has no ``status.allocation``."""


class ClaimGoneError(ClaimError):
    """The API server has no claim of this name."""
