"""What is shipped with the driver: the option's manifests or the profile's, as plain files."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path
from typing import Final

from pytest_dra.live.rendering import is_rendered
from pytest_dra.live.rendering import rendered
from pytest_dra.live.shipment import ShipmentError
from pytest_dra.options import OptionError
from pytest_dra.options import Settings
from pytest_dra.profile import DriverProfile
from pytest_dra.refusals import is_image
from pytest_dra.refusals import is_whole

FOLDER: Final = "manifests"
"""Below the output directory: what charts and kustomize directories have been rendered to."""


def shipped(settings: Settings, profile: DriverProfile) -> DriverProfile:
    """The profile with the manifests of the run, none of which has to be rendered any more.

    Raises:
        OptionError: one of them is not there, or cannot be rendered; with the way out.
    """
    given = settings["dra_manifests"]
    paths = (Path(given).absolute(),) if given else profile.manifests
    values = Path(settings["dra_helm_values"]) if settings["dra_helm_values"] else None
    if given and not paths[0].exists():
        raise OptionError(f"--dra-manifests={given}: there is no such file or directory")
    if values is not None and not values.is_file():
        raise OptionError(f"--dra-helm-values={values}: there is no such file")
    if values is not None and not any(map(is_rendered, paths)):
        raise OptionError(f"--dra-helm-values={values}: no Helm chart is given; leave it out")
    folder = Path(settings["dra_output"]).absolute() / FOLDER
    plain = []
    for path in paths:
        if not is_rendered(path):
            plain.append(path)
            continue
        try:
            text = rendered(path, kubernetes=settings["dra_kubernetes"], values=values)
            plain.append(_written(text, folder / f"{path.name}.yaml"))
        except ShipmentError as error:
            if given or _is_needed(settings):
                option = "--dra-manifests" if given else "manifests of the profile"
                raise OptionError(f"{option}: {error}") from error
            # Only cases look at it, which say so.
            plain.append(path)
    return dataclasses.replace(profile, manifests=tuple(plain))


def _is_needed(settings: Settings) -> bool:
    """True if nothing can be started without the manifests."""
    return is_whole(settings["dra_cluster"]) or is_image(settings["dra_driver"])


def _written(text: str, file: Path) -> Path:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", dir=file.parent, prefix=".", encoding="utf-8", delete=False
        ) as partial:
            partial.write(text)
        Path(partial.name).replace(file)
    except OSError as error:
        raise ShipmentError(f"{file} cannot be written: {error.strerror}") from error
    return file
