"""``native``: what the driver says of this machine's GPUs, by a stand-in for the driver."""

import pytest

from tileiras_build.core.errors import InvalidInput
from tileiras_build.target import native_gpus
from tileiras_build.target.targets import find_target, parse_targets


class Driver:
    """libcuda with GPUs of these compute capabilities; None: a call fails."""

    def __init__(self, *gpus, status=0):
        self.gpus, self.status = gpus, status

    def cuInit(self, flags):
        return self.status

    def cuDeviceGetCount(self, count):
        count._obj.value = len(self.gpus)
        return 0

    def cuDeviceGetAttribute(self, value, attribute, device):
        if self.gpus[device] is None:
            return 1
        value._obj.value = self.gpus[device][{75: 0, 76: 1}[attribute]]
        return 0


def _install(monkeypatch, driver):
    monkeypatch.setattr(native_gpus, "_open_driver", lambda: driver)


def test_each_target_of_the_machine_once(monkeypatch):
    _install(monkeypatch, Driver((12, 0), (9, 0), (12, 0)))
    assert [row.name for row in parse_targets("native,80,90")] == ["sm_90", "sm_120", "sm_80"]


def test_a_command_for_one_target_takes_the_only_one(monkeypatch):
    _install(monkeypatch, Driver((10, 0), (10, 0)))
    assert find_target("native").name == "sm_100"
    _install(monkeypatch, Driver((10, 0), (8, 0)))
    with pytest.raises(InvalidInput, match="GPUs of 2 targets, sm_80, sm_100; name one of them") as raised:
        find_target("native")
    assert raised.value.id == "native-gpu"


@pytest.mark.parametrize(
    ("driver", "message"),
    [
        (Driver(), "the CUDA driver found no GPU"),
        (Driver((9, 0), status=100), "the CUDA driver found no GPU"),
        (Driver(None), "the CUDA driver does not describe GPU 0"),
    ],
)
def test_no_gpu_is_an_error_with_a_remedy(monkeypatch, driver, message):
    _install(monkeypatch, driver)
    with pytest.raises(InvalidInput, match=f"{message}.*or name the targets") as raised:
        parse_targets("native")
    assert raised.value.id == "native-gpu"


def test_no_driver_is_an_error_with_a_remedy(monkeypatch):
    def fail():
        raise OSError("libcuda.so.1: cannot open shared object file")

    monkeypatch.setattr(native_gpus, "_open_driver", fail)
    with pytest.raises(InvalidInput, match="no CUDA driver"):
        parse_targets("native")
