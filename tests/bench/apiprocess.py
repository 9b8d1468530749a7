"""The embedded API server as a process of its own: ``python -m tests.bench.apiprocess DIRECTORY``.

Prints where it listens as JSON, and ends with its input.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pytest_dra.embedded import ApiServer
from pytest_dra.embedded import User
from pytest_dra.embedded.certificates import make_certificates
from pytest_dra.timeline import Timeline

TOKEN = "bench"


def main(directory: str) -> None:
    """Serve until the input ends."""
    certificates = make_certificates(Path(directory))
    server = ApiServer(timeline=Timeline(), tokens={TOKEN: User("bench", ("system:masters",))})
    server.start()
    secure = server.listen_securely(certificates)
    authority = str(certificates.authority)
    shown = {"url": server.url, "secure": secure, "authority": authority}
    sys.stdout.write(json.dumps(shown) + "\n")
    sys.stdout.flush()
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    main(sys.argv[1])
