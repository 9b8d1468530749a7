"""A program in the place of ``docker`` or ``podman``: its containers are processes of this machine.

What it prints has the form of Docker 28 and Podman 4.3.
"""

from __future__ import annotations

from pathlib import Path

from pytest_dra.clusters.engine import DOCKER
from pytest_dra.clusters.engine import Engine
from tests.clusters.stubs import Stub

BODY = """\
import signal, subprocess
state = {state!r}
path = lambda name: os.path.join(state, name)
IMAGES = {images!r}
PODMAN = os.path.basename(sys.argv[0]) == "podman"
def forget(name):
    try:
        os.unlink(path(name))
    except FileNotFoundError:
        pass
if words[0] == "run":
    options = [word for word in words[1:] if word.startswith("--")]
    name = next(word[7:] for word in options if word.startswith("--name="))
    label = next(word[8:] for word in options if word.startswith("--label="))
    at = next(n for n, word in enumerate(words) if word in IMAGES)
    if words[at] == "broken:1":
        sys.stderr.write("docker: Error response from daemon: no such thing\\n")
        sys.exit(125)
    child = subprocess.Popen(words[at + 1:], start_new_session=True)
    half = f"{{state}}.{{child.pid}}"
    with open(half, "w") as file:
        file.write(f"{{child.pid}} {{label}}")
    os.replace(half, path(name))
    code = child.wait()
    forget(name)
    sys.exit(128 - code if code < 0 else code)
known = {{}}
for name in os.listdir(state):
    try:
        pid, _, label = open(path(name)).read().partition(" ")
    except FileNotFoundError:
        continue
    known[name] = (int(pid), label)
if words[:2] == ["container", "inspect"]:
    if words[-1] not in known:
        sys.exit(1)
    sys.stdout.write(f"{{'0' * 64}} {{known[words[-1]][0]}}\\n")
elif words[:2] == ["image", "inspect"]:
    if words[-1] not in IMAGES:
        sys.stderr.write("Error: No such image\\n")
        sys.exit(1)
    json.dump(IMAGES[words[-1]], sys.stdout)
elif words[0] == "pull":
    sys.stderr.write("Error response from daemon: no route to host\\n")
    sys.exit(1)
elif words[0] == "kill":
    os.kill(known[words[-1]][0], int(words[1].partition("=")[2]))
elif words[0] == "rm":
    try:
        os.kill(known[words[-1]][0], signal.SIGKILL)
    except ProcessLookupError:
        pass
    forget(words[-1])
elif words[0] == "ps":
    wanted = words[words.index("--filter") + 1].partition("=")[2]
    found = [(name, label) for name, (pid, label) in known.items() if label.startswith(wanted)]
    if PODMAN:
        labels = [(name, dict([label.partition("=")[::2]])) for name, label in found]
        listed = [{{"Names": [name], "Labels": pairs}} for name, pairs in labels]
        print(json.dumps(listed, indent=4))
    else:
        for name, label in found:
            print(json.dumps({{"Names": name, "Labels": label}}))
"""


class FakeEngine(Stub):
    """See the module; it has the images ``there:1`` (with entry point and command), ``older:1``,
    and ``broken:1``, whose containers cannot be run."""

    def __init__(self, folder: Path, name: str = DOCKER) -> None:
        self.state = folder / "containers"
        self.state.mkdir()
        images = {
            "there:1": {"Entrypoint": ["/driver"], "Cmd": ["--one"]},
            "broken:1": {},
            "older:1": {},
        }
        super().__init__(folder, name, BODY.format(state=str(self.state), images=images))

    @property
    def engine(self) -> Engine:
        """As the suite uses it."""
        return Engine(self.program)

    def running(self) -> list[str]:
        """Names of the containers."""
        return sorted(each.name for each in self.state.iterdir())
