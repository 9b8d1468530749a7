"""Our own scripts against what kube-apiserver 1.37.2 answered to them: custom
resources, admission policies, and what surprises of a real server (free JSON compared as text, a
DELETE body that hides its query, a generation that counts what is dropped, empty lists that count
as set).

``python -m tests.upstream.apiserver_record`` makes more.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.upstream.apiserver import main

HERE = Path(__file__).parent / "more"
SCRIPTS = sorted(path.stem for path in (HERE / "scripts").glob("*.yaml"))


@pytest.mark.parametrize(
    ("script", "profile"), [*((each, "1.37") for each in SCRIPTS), ("surprises", "1.36")]
)
def test_the_embedded_server_answers_as_the_real_one(
    script: str, profile: str, capsys: pytest.CaptureFixture[str]
) -> None:
    places = ["--scripts", str(HERE / "scripts"), "--recorded", str(HERE / "recorded")]
    code = main([script, *places, "--profile", profile])
    assert code == 0, capsys.readouterr().out
