"""What a program in PyTorch does with kernels on the strict driver: streams, events, a graph, a view, a list, a plain tensor."""

import torch  # noqa: I001  (before cuTile: PyTorch is on the driver from its import on)
import cuda.tile as ct

import tileiras_build.cutile


@ct.kernel
def add_one(x, y, tile: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, (i,), ct.load(x, (i,), (tile,)) + 1)


tileiras_build.cutile.enable()
x = torch.arange(256, device="cuda", dtype=torch.float32)
y = torch.zeros_like(x)
start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
stream = torch.cuda.Stream()
start.record()
with torch.cuda.stream(stream):
    ct.launch(torch.cuda.current_stream(), (2,), add_one, (x, y, 128))
    end.record()
end.synchronize()
assert start.elapsed_time(end) > 0 and torch.equal(y, x + 1)

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    assert torch.cuda.is_current_stream_capturing()
    ct.launch(torch.cuda.current_stream(), (2,), add_one, (y, y, 128))
assert torch.equal(y, x + 1)
for _ in range(2):
    graph.replay()
assert torch.equal(y, x + 3)

view = y.view(2, 128)[1]
ct.launch(0, (1,), add_one, (view, view, 128))
assert torch.equal(y[128:], x[128:] + 4) and torch.equal(y[:128], x[:128] + 3)
assert y.__dlpack_device__() == (2, 0)
try:
    torch.cuda.Event().elapsed_time(end)
    raise SystemExit("an event that was not recorded has a time")
except RuntimeError:
    print("right")
