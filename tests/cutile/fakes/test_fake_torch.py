"""PyTorch without CUDA: requests for "cuda" return tensors that report a CUDA device."""

import copy
import subprocess
import sys
import threading

import pytest

import tileiras_build.cutile as hook
from tileiras_build.core.errors import InvalidInput
from tileiras_build.cutile import monkeypatch_cutile

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
ct = pytest.importorskip("cuda.tile", reason="cuda-tile is not installed")

from tests.cutile import faulty_kernels as kernels  # noqa: E402 - it imports cuTile


@pytest.fixture(scope="module", autouse=True)
def device():
    with hook.enabled("sm_90", device="cpu"):
        yield


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.zeros(3, device="cuda"),
        lambda: torch.zeros(3).cuda(),
        lambda: torch.zeros(3).to("cuda:0"),
        lambda: torch.zeros(3).to(torch.device("cuda"), torch.float16),
        lambda: torch.tensor([1, 2], device="cuda")[1:],
        lambda: torch.empty_like(torch.zeros(3, device="cuda")) + 1,
        lambda: torch.nn.Linear(2, 3).cuda().weight,
        lambda: torch.nn.Parameter(torch.ones(3, device="cuda")),
    ],
)
def test_tensors_of_requests_for_cuda_say_that_they_are_there(make):
    made = make()
    assert made.is_cuda and made.device == torch.device("cuda", 0) and made.get_device() == 0


@pytest.mark.parametrize(
    "make", [lambda x: x.cpu(), lambda x: x.to("cpu"), lambda x: torch.zeros_like(x, device="cpu")]
)
def test_tensors_come_back_to_the_host(make):
    made = make(torch.ones(3, device="cuda"))
    assert type(made) is torch.Tensor and not made.is_cuda


def test_moving_to_the_device_copies():
    host = torch.zeros(3)
    host.cuda().add_(1)
    assert not host.any()


def test_gradients_are_on_the_device_and_functions_of_a_script_may_ask_for_it():
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, gradient):
            return 2 * gradient + torch.zeros(3, device="cuda")

    x = torch.ones(3, device="cuda", requires_grad=True)
    Doubled.apply(x).sum().backward()
    assert x.grad.is_cuda and x.grad.tolist() == [2, 2, 2]


def test_other_threads_have_the_device_too():
    seen = []
    thread = threading.Thread(target=lambda: seen.append(torch.zeros(1, device="cuda").is_cuda))
    thread.start()
    thread.join()
    assert seen == [True]


FIRST_IMPORT = """
import sys, threading

def work():
    import torch

    print(torch.zeros(1, device="cuda").device)

thread = threading.Thread(target=work)
thread.start()
thread.join()
print(sys.modules["torch"].zeros(1, device="cuda").device)
"""


def test_the_main_thread_has_the_device_that_came_with_an_import_in_another(tmp_path):
    (tmp_path / "script.py").write_text(FIRST_IMPORT)
    command = [sys.executable, "-m", "tileiras_build", "run", str(tmp_path / "script.py"), "--sm", "90"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "cuda:0\ncuda:0\n", "")


def test_a_second_device_is_refused():
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.zeros(3, device="cuda:1")


def test_matmuls_in_half_precision_match_tensor_cores():
    a, b = torch.randn(8, 40, device="cuda").half(), torch.randn(40, 8, device="cuda").half()
    expected = torch.zeros(8, 8)
    for k in range(0, 40, 16):
        expected += (a.cpu()[:, k : k + 16].double() @ b.cpu()[k : k + 16].double()).float()
    assert torch.equal((a @ b).cpu(), expected.half())


@pytest.mark.parametrize("count", [torch.histc, torch.Tensor.histc])
def test_integers_are_counted_on_the_device_alone(count):
    """As experts are in models of transformers."""
    chosen = torch.tensor([0, 2, 2, 3, 9], dtype=torch.int32)
    counted = count(chosen.cuda(), bins=4, min=0, max=3)
    assert counted.tolist() == [1, 0, 2, 1] and counted.dtype == torch.int32 and counted.is_cuda
    with pytest.raises(NotImplementedError):
        count(chosen, bins=4, min=0, max=3)


def test_kernels_launch_on_streams_and_in_graphs():
    x = torch.zeros(kernels.TILE, device="cuda")
    with torch.cuda.stream(torch.cuda.Stream()) as _:
        ct.launch(torch.cuda.current_stream(), (1,), kernels.plus_one, (x, kernels.TILE))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        ct.launch(torch.cuda.current_stream(), (1,), kernels.plus_one, (x, kernels.TILE))
    assert (x == 1).all()
    graph.replay()
    torch.cuda.synchronize()
    assert (x == 2).all()


def test_events_tell_the_emulators_time():
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    end.record()
    assert start.elapsed_time(end) >= 0


def test_profiles_of_kernels_alone_are_refused_and_others_are_not():
    kinds = torch.profiler.ProfilerActivity
    with pytest.raises(InvalidInput, match=r"error\[torch-profiler\]"):
        torch.profiler.profile(activities=[kinds.CUDA])
    torch.profiler.profile(activities=[kinds.CPU, kinds.CUDA])
    assert torch.cuda.cudart().cudaProfilerStart() == torch.cuda.cudart().cudaProfilerStop() == 0


def test_what_is_asked_about_the_device():
    assert torch.cuda.is_available() and torch.cuda.device_count() == 1
    assert torch.cuda.get_device_capability() == (9, 0)
    assert torch.cuda.get_device_properties(0).multi_processor_count > 0


def test_the_accelerator_is_the_device():
    asked = torch.accelerator
    assert asked.is_available() and asked.current_accelerator() == torch.device("cuda")
    assert (asked.device_count(), asked.current_device_index()) == (1, 0)
    asked.synchronize()
    assert torch.zeros(1, device=asked.current_accelerator()).is_cuda
    assert asked.current_stream() == torch.cuda.current_stream() and not asked.current_stream().is_capturing()


def test_batches_are_pinned_for_the_device():
    """DataLoader asks the accelerator, and pins in a thread of its own where it has workers."""
    batches = torch.utils.data.DataLoader(torch.arange(4.0), batch_size=2, pin_memory=True)
    assert [batch.to("cuda", non_blocking=True).tolist() for batch in batches] == [[0, 1], [2, 3]]


def test_marks_for_profilers_do_nothing():
    with torch.cuda.nvtx.range("a"):
        torch.cuda.nvtx.mark("b")
    torch.cuda.nvtx.range_end(torch.cuda.nvtx.range_start("c"))


def test_functions_that_a_graph_would_replay_are_called():
    x = torch.ones(2, device="cuda")
    assert torch.cuda.make_graphed_callables(lambda x: x + 1, (x,))(x).tolist() == [2, 2]
    assert torch.cuda.graph_pool_handle() == torch.cuda.CUDAGraph().pool()


def test_what_is_asked_about_the_device_s_memory():
    assert "emulator" in torch.cuda.memory_summary() and torch.cuda.memory_snapshot() == []
    torch.cuda.set_per_process_memory_fraction(0.5)
    torch.cuda.set_rng_state_all(torch.cuda.get_rng_state_all())


def test_seeds_are_the_cpu_generators():
    torch.manual_seed(3)
    first = torch.rand(2, device="cuda")
    torch.manual_seed(3)
    assert torch.equal(first, torch.rand(2, device="cuda"))
    generator = torch.Generator(device="cuda").manual_seed(3)
    assert torch.equal(first, torch.rand(2, device="cuda", generator=generator))


def test_compiled_functions_are_the_functions_themselves():
    linear = torch.nn.Linear(2, 2).cuda()
    linear.compile()
    assert torch.compile(linear)(torch.ones(1, 2, device="cuda")).is_cuda

    @torch.compile(mode="max-autotune")
    def doubled(x):
        return 2 * x

    assert doubled(torch.ones(1, device="cuda")).item() == 2


def test_each_function_of_the_device_is_an_object_of_its_own_and_each_class_a_class():
    """What torch._dynamo asks as it is imported, which takes seconds."""
    functions = [
        value for value in vars(torch.cuda).values() if (getattr(value, "__module__", "") or "").endswith("torch_cuda")
    ]
    functions = [value for value in functions if not isinstance(value, type)]
    assert len({id(one) for one in functions}) == len(functions) > 20
    assert isinstance(torch.cuda.stream(None), torch.cuda.StreamContext)


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(4, 4, bias=False), torch.nn.Linear(4, 4, bias=False)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(self.first(x))


def test_parameters_stay_the_objects_that_optimizers_and_other_modules_have():
    model = Tied()
    optimizer, before = torch.optim.SGD(model.parameters(), lr=0.5), model.first.weight.detach().clone()
    model.cuda()
    assert model.second.weight is model.first.weight and len(list(model.parameters())) == 1
    model(torch.ones(4, device="cuda")).sum().backward()
    assert model.first.weight.grad.is_cuda
    optimizer.step()
    assert model.first.weight.is_cuda and not torch.equal(model.first.weight.cpu(), before)
    model.cpu()
    assert type(model.first.weight) is torch.nn.Parameter and model.second.weight is model.first.weight
    assert not model.first.weight.is_cuda and not model.first.weight.grad.is_cuda


def test_tensors_of_the_device_are_saved_copied_and_shown_as_pytorch_s(tmp_path):
    model = torch.nn.Linear(2, 2).cuda()
    torch.save({"model": model.state_dict(), "steps": [torch.ones(2, device="cuda")]}, tmp_path / "saved.pt")
    for place, is_there in (("cuda", True), ("cpu", False), (torch.device("cuda:0"), True)):
        loaded = torch.load(tmp_path / "saved.pt", map_location=place)
        assert loaded["model"]["weight"].is_cuda is loaded["steps"][0].is_cuda is is_there
    assert torch.equal(torch.load(tmp_path / "saved.pt", "cuda")["model"]["weight"], model.weight)
    copied = copy.deepcopy(model)
    assert isinstance(copied.weight, torch.nn.Parameter) and copied.weight.is_cuda and copied.weight is not model.weight
    assert (
        repr(torch.ones(1, dtype=torch.float16, device="cuda")) == "tensor([1.], device='cuda:0', dtype=torch.float16)"
    )
    shown = "Parameter containing:\ntensor([1.], device='cuda:0', requires_grad=True)"
    assert repr(torch.nn.Parameter(torch.ones(1, device="cuda"))) == shown


def test_a_tensor_without_memory_is_refused():
    with pytest.raises(InvalidInput, match="argument x: it is on the meta device"):
        ct.launch(0, (1,), kernels.plus_one, (torch.empty(64, dtype=torch.int32, device="meta"), 64))


SEEN: list[tuple[torch.dtype, bool]] = []


class Noted(torch.autograd.Function):
    """A function of a script that notes its gradients."""

    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float16)
    def forward(ctx, x):
        return x * 2

    @staticmethod
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx, gradient):
        SEEN.append((gradient.dtype, gradient.is_cuda))
        return gradient * 2


def test_gradients_of_a_function_are_where_its_arguments_were():
    SEEN.clear()
    x = torch.ones(3, device="cuda", requires_grad=True)
    with torch.autocast("cuda", dtype=torch.float16):
        Noted.apply(x).sum().backward()
    Noted.apply(torch.ones(3, requires_grad=True)).sum().backward()
    assert [(torch.float16, True), (torch.float32, False)] == SEEN and x.grad.tolist() == [2, 2, 2]


def test_functions_of_a_script_are_its_own_after_the_device_too():
    before = monkeypatch_cutile.current()
    hook.disable()
    try:
        x = torch.ones(3, requires_grad=True)
        Noted.apply(x).sum().backward()
    finally:
        monkeypatch_cutile.restore(before)
    assert x.grad.tolist() == [2, 2, 2]


def test_mixed_precision_of_the_device_is_that_of_its_tensors():
    layer, x = torch.nn.Linear(2, 2).cuda(), torch.ones(1, 2, device="cuda")
    with torch.autocast("cuda"):
        assert layer(x).dtype == torch.float16
        with torch.autocast("cuda", enabled=False):
            assert layer(x).dtype == torch.float32
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert layer(x).dtype == torch.bfloat16
    assert layer(x).dtype == torch.float32 and not torch.is_autocast_enabled("cpu")


def test_lazy_modules_move_before_they_have_memory():
    model = torch.nn.LazyLinear(3).cuda()
    assert model(torch.ones(1, 2, device="cuda")).is_cuda and model.weight.shape == (3, 2)


def test_memory_is_kept_for_streams_that_say_so():
    torch.ones(1, device="cuda").record_stream(torch.cuda.Stream())
