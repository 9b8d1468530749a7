from __future__ import annotations
from typing import ClassVar
from pytest_dra.embedded.strategy import Strategy


class ResourceClaims(Strategy):
    generation: ClassVar[bool] = False
    status: ClassVar[bool] = True


class ResourceClaimTemplates(Strategy):
    generation: ClassVar[bool] = False
    status: ClassVar[bool] = False
