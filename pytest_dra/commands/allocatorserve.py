"""``dra-allocator serve``: a scheduler for the pods of a cluster that ask for it."""

from __future__ import annotations

import argparse
import logging
import os
import secrets
import signal
import socket
import sys
from typing import Any

from pytest_dra import kube
from pytest_dra.commands import allocatorinput as intake
from pytest_dra.commands.allocatorinput import NAME
from pytest_dra.commands.allocatorinput import InputError
from pytest_dra.controllers import scheduling
from pytest_dra.controllers.leading import Leader
from pytest_dra.controllers.looping import SyncError
from pytest_dra.objects import live


def add(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    intake.add_options(parser, files=False)
    parser.add_argument(
        "--scheduler-name", metavar="NAME", default=scheduling.NAME,
        help=f"the schedulerName of the pods to schedule; default: {scheduling.NAME}",
    )  # fmt: skip
    parser.add_argument(
        "--leader-elect", action=argparse.BooleanOptionalAction, default=True,
        help="of several processes only one schedules at a time (the default)",
    )  # fmt: skip
    parser.add_argument(
        "--leader-elect-resource-namespace", metavar="NAME", default="kube-system",
        help="namespace of the lease; default: kube-system",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Schedule until a signal comes."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format=f"{NAME}: %(message)s")
    try:
        client = kube.Client(live.kubeconfig(arguments.kubeconfig), context=arguments.context)
        _, rules = intake.settings(arguments, client.server_version())
    except kube.KubeError as error:
        raise InputError(str(error)) from error
    leader = None
    if arguments.leader_elect:
        identity = f"{socket.gethostname()}_{os.getpid()}_{secrets.token_hex(4)}"
        leader = Leader(
            client,
            namespace=arguments.leader_elect_resource_namespace,
            name=arguments.scheduler_name,
            identity=identity,
        )
    loop = scheduling.SchedulerLoop(
        client,
        rules,
        name=arguments.scheduler_name,
        leader=leader,
        namespace=arguments.namespace or "",
    )

    def stop(number: int, frame: Any) -> None:
        loop.stop()

    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, stop)
    try:
        loop.run()
    except SyncError as error:
        raise InputError(str(error)) from error
    finally:
        client.close()
    return 0
