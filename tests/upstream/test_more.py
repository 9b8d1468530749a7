"""Our own scripts against what kube-apiserver 1.37.2 answered to them.

Recorded with the oracle's ``replay.py record``; see its README for how the real server is started.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.upstream.apiserver import main

HERE = Path(__file__).parent / "more"


@pytest.mark.parametrize("script", ["custom", "policies", "matching"])
def test_the_embedded_server_answers_as_the_real_one(
    script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    places = ["--scripts", str(HERE / "scripts"), "--recorded", str(HERE / "recorded")]
    code = main([script, *places, "--profile", "1.37"])
    assert code == 0, capsys.readouterr().out
