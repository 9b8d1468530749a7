"""How a command ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Final
from typing import NoReturn

INTERRUPTED: Final = 130
"""What shells say of a program that Ctrl-C has ended: 128 and the signal's number."""


def leave(
    run: Callable[[Iterable[str]], int], arguments: Sequence[str] | None, *, broken: int
) -> NoReturn:
    """Run a command and exit with its code.

    Args:
        arguments: those of the command line if None.
        broken: the code if nobody reads what it prints any more.
    """
    try:
        code = run(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough; nothing more may be written at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = broken
    except KeyboardInterrupt:
        code = INTERRUPTED
    sys.exit(code)
