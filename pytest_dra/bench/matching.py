"""Which of the driver's devices a CEL selector matches."""

from __future__ import annotations

from typing import Protocol

from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.bench.devices import Device
from pytest_dra.cel.engines import engine
from pytest_dra.cel.errors import CelError
from pytest_dra.cel.errors import EvaluationError
from pytest_dra.cel.prepared import prepare
from pytest_dra.cel.releases import environment_of


class Publishing(Protocol):
    """A driver, as far as it is needed here."""

    @property
    def driver_name(self) -> str | None:
        """Its name, if that is known."""

    def devices(self) -> list[Device]:
        """What it publishes, plain ones first."""


class Matching:
    """Selects among the devices that a driver publishes, as a scheduler of a version does.

    ``engine_name`` is one of :data:`pytest_dra.cel.engines.NAMES`.
    """

    def __init__(
        self, instance: Publishing, *, version: KubernetesVersion, engine_name: str
    ) -> None:
        self._instance = instance
        self._environment = environment_of(version, stored=True)
        self._engine = engine(engine_name)

    def __call__(self, expression: str) -> list[Device]:
        """The devices that match, plain ones first.

        Raises:
            CompileError: the expression does not compile.
            EvaluationError: it fails on a device, which would be the end of an allocation.
        """
        selector = self._engine.compile(expression, self._environment)
        devices = self._instance.devices()
        driver = self._instance.driver_name or ""
        prepared = prepare(
            ((driver, device.spec) for device in devices), lists=self._environment.lists
        )
        chosen = []
        for device, result in zip(devices, selector.matches(prepared), strict=True):
            if isinstance(result, CelError):
                where = f"device {device.pool}/{device.name}: {result.message}"
                raise EvaluationError(CelError(result.kind, where, result.node))
            if result:
                chosen.append(device)
        return chosen
