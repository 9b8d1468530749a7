"""How commands end."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from pytest_dra.commands.leaving import leave


def test_ctrl_c_ends_a_command_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(_: Iterable[str]) -> int:
        raise KeyboardInterrupt

    with pytest.raises(SystemExit) as caught:
        leave(interrupted, [], broken=2)
    assert caught.value.code == 130
    assert capsys.readouterr().err == ""


def test_a_command_ends_with_its_code() -> None:
    with pytest.raises(SystemExit) as caught:
        leave(lambda _: 1, [], broken=2)
    assert caught.value.code == 1
