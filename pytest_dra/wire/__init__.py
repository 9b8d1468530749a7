"""The gRPC services between kubelet and plugin: registration, DRAPlugin v1 and v1beta1, health.

Message classes are made from descriptors built in Python, so no generated file is carried and
no version of a code generator can disagree with the installed protobuf runtime.
"""

from pytest_dra.wire.messages import DRA_API_NAMES
from pytest_dra.wire.messages import DRA_METHODS
from pytest_dra.wire.messages import GET_INFO
from pytest_dra.wire.messages import HEALTH_METHODS
from pytest_dra.wire.messages import NOTIFY_REGISTRATION_STATUS
from pytest_dra.wire.messages import PLUGIN_TYPE
from pytest_dra.wire.messages import DraMethods
from pytest_dra.wire.messages import Method

__all__ = [
    "DRA_API_NAMES",
    "DRA_METHODS",
    "GET_INFO",
    "HEALTH_METHODS",
    "NOTIFY_REGISTRATION_STATUS",
    "PLUGIN_TYPE",
    "DraMethods",
    "Method",
]
