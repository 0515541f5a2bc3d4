"""Programs in C++17 and C++20 over the strict driver: typed arrays, spans, threads that launch one kernel for the first time."""

import pytest

from tests.compiled_once import compiled
from tests.examples.example_library import bytecode_of
from tests.launch.runtime.fake_libcuda import compiler, run
from tests.strict_driver import launch_case, packages
from tests.strict_driver.server import StrictDriver

PLAIN = "vector_add_f32"
PROGRAM = """
#include "strict.hpp"
#include <cmath>
#include <cstdio>
#include <thread>
#include <vector>
#if __cplusplus >= 202002L
#include <span>
#endif

static void check(CUresult status)
{
    if (status) {
        std::fprintf(stderr, "driver: %d\\n", static_cast<int>(status));
        std::exit(3);
    }
}

class memory {
public:
    explicit memory(const std::vector<float> &values) : size_(values.size() * sizeof(float))
    {
        check(cuMemAlloc(&address_, size_));
        check(cuMemcpyHtoD(address_, values.data(), size_));
    }
    ~memory() { cuMemFree(address_); }
    float *get() const { return reinterpret_cast<float *>(static_cast<std::uintptr_t>(address_)); }
    std::vector<float> values() const
    {
        std::vector<float> made(size_ / sizeof(float));
        check(cuMemcpyDtoH(made.data(), address_, size_));
        return made;
    }

private:
    CUdeviceptr address_ = 0;
    std::size_t size_;
};

/* x + y, for a length that is no multiple of a tile. */
static bool add(const strict::library &library, float scale, std::size_t length)
{
    std::vector<float> one(length), other(length, scale);
    for (std::size_t index = 0; index < length; ++index)
        one[index] = static_cast<float>(index);
    const memory x(one), y(other), out(std::vector<float>(length, NAN));
    const unsigned blocks = static_cast<unsigned>((length + 255) / 256);
    const auto count = static_cast<std::int64_t>(length);
#if __cplusplus >= 202002L
    library.vector_add_f32({blocks, 1, 1}, nullptr, std::span<const float>(x.get(), length), std::span(y.get(), length),
                           std::span(out.get(), length));
    (void)count;
#else
    library.vector_add_f32({blocks, 1, 1}, nullptr, strict::tensor<const float, 1>(x.get(), {count}),
                           strict::tensor<const float, 1>(y.get(), {count}), strict::tensor<float, 1>(out.get(), {count}));
#endif
    check(cuCtxSynchronize());
    const auto made = out.values();
    for (std::size_t index = 0; index < length; ++index)
        if (made[index] != static_cast<float>(index) + scale)
            return false;
    return true;
}

int main(int, char **words)
{
    CUcontext context;
    check(cuInit(0));
    check(cuDevicePrimaryCtxRetain(&context, 0));
    check(cuCtxSetCurrent(context));
    strict::library library = strict::library::open_file(words[1]);
    std::vector<int> right(4);
    std::vector<std::thread> threads;
    for (std::size_t number = 0; number < right.size(); ++number)
        threads.emplace_back([&, number] {
            check(cuCtxSetCurrent(context));
            right[number] = add(library, static_cast<float>(number), 300 + 100 * number);
        });
    for (auto &thread : threads)
        thread.join();
    for (const int one : right)
        if (!one)
            return 4;
    library.load_all();
    strict::library moved = std::move(library);
    try {
        library.vector_add_f32({1, 1, 1}, nullptr, strict::tensor<float, 1>(), strict::tensor<float, 1>(),
                               strict::tensor<float, 1>());
        return 5;
    } catch (const strict::error &what) {
        std::puts(what.what());
    }
    return add(moved, 9, 1) ? 0 : 6;
}
"""


@pytest.mark.parametrize(("tool", "standard"), [("g++", "c++17"), ("g++", "c++20"), ("clang++", "c++20")])
def test_cpp_launches(driver, tmp_path, tool, standard):
    artifacts = compiled(bytecode_of(PLAIN), "sm_90", stop_at="cubin")
    package = packages.build(tmp_path, PLAIN, artifacts)
    (tmp_path / "main.cpp").write_text(PROGRAM)
    warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    options = launch_case.c_options(driver, package)
    plain = "clang" if tool == "clang++" else "gcc"
    run(
        [
            compiler(plain),
            "-std=c99",
            *warnings,
            "-c",
            package / "src/strict.c",
            *options[:3],
            "-o",
            tmp_path / "strict.o",
        ]
    )
    sources = [tmp_path / "main.cpp", tmp_path / "strict.o"]
    run([compiler(tool), f"-std={standard}", *warnings, *sources, *options, "-pthread", "-o", tmp_path / "main"])
    with StrictDriver(driver, "sm_90") as gpu:
        gpu.add(artifacts.cubin, artifacts.ptx)
        done = gpu.run([tmp_path / "main", package / "strict.fatbin"])
        assert (done.returncode, gpu.refusals()) == (0, []), done.stdout + done.stderr
        assert done.stdout == f"kernel {PLAIN}: missing library\n"
        assert gpu.launches == [PLAIN] * 5
