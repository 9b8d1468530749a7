"""Our own scripts against what kube-apiserver 1.37.2 answered to them.

``python -m tests.upstream.apiserver_record`` makes more.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.upstream.apiserver import main

HERE = Path(__file__).parent / "more"
SCRIPTS = sorted(path.stem for path in (HERE / "scripts").glob("*.yaml"))


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_embedded_server_answers_as_the_real_one(
    script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    places = ["--scripts", str(HERE / "scripts"), "--recorded", str(HERE / "recorded")]
    code = main([script, *places, "--profile", "1.37"])
    assert code == 0, capsys.readouterr().out
