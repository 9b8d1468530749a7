"""The kubelet stand-in: finds plugins, registers and calls them, and wipes slices.

What it does and when is the kubelet's, as recorded; the texts it sends are the kubelet's too.
"""

from pytest_dra.kubelet.answers import ClaimAnswer
from pytest_dra.kubelet.answers import ClaimRef
from pytest_dra.kubelet.answers import GetInfoReply
from pytest_dra.kubelet.answers import NodeReply
from pytest_dra.kubelet.answers import PluginInfo
from pytest_dra.kubelet.answers import PreparedDevice
from pytest_dra.kubelet.answers import Reply
from pytest_dra.kubelet.checkpoint import CheckpointError
from pytest_dra.kubelet.checkpoint import KeptClaim
from pytest_dra.kubelet.client import DraClient
from pytest_dra.kubelet.client import RegistrationClient
from pytest_dra.kubelet.clock import Clock
from pytest_dra.kubelet.kubelet import Kubelet
from pytest_dra.kubelet.plugins import Plugin
from pytest_dra.kubelet.registration import Attempt
from pytest_dra.kubelet.settings import KubeletSettings

__all__ = [
    "Attempt",
    "CheckpointError",
    "ClaimAnswer",
    "ClaimRef",
    "Clock",
    "DraClient",
    "GetInfoReply",
    "KeptClaim",
    "Kubelet",
    "KubeletSettings",
    "NodeReply",
    "Plugin",
    "PluginInfo",
    "PreparedDevice",
    "RegistrationClient",
    "Reply",
]
