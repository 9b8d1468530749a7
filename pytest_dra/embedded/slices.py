from __future__ import annotations
from typing import ClassVar
from pytest_dra.embedded.strategy import Strategy


class ResourceSlices(Strategy):
    generation: ClassVar[bool] = True
    status: ClassVar[bool] = False
