"""Dots behind, between and in front of returns, and in choices: some of the blocks have no tile, or only the first dot of one."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case, Scalar

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


def _dot(a, b, row, M, N, K, acc):
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        acc = _step(a, b, row, k, M, N, K, acc)
    return acc


def _step(a, b, row, k, M, N, K, acc):
    x = ct.load(a, (row, k), (M, K), padding_mode=ZERO)
    y = ct.load(b, (k, 0), (K, N), padding_mode=ZERO)
    return ct.mma(x, y, acc)


def guarded(a, b, lengths, out, limit, M: ConstInt, N: ConstInt, K: ConstInt):
    """Blocks from ``limit`` on have nothing to do."""
    row = ct.bid(0)
    if row >= limit:
        return
    ct.store(out, (row, 0), _dot(a, b, row, M, N, K, ct.zeros((M, N), dtype=ct.float32)))


def looked_up(a, b, lengths, out, limit, M: ConstInt, N: ConstInt, K: ConstInt):
    """An array says which blocks store ones, and which nothing; the others multiply."""
    row = ct.bid(0)
    length = ct.load(lengths, (row,), (1,)).item()
    if length <= limit:
        if length == limit:
            ct.store(out, (row, 0), ct.ones((M, N), dtype=ct.float32))
        return
    ct.store(out, (row, 0), _dot(a, b, row, M, N, K, ct.zeros((M, N), dtype=ct.float32)))


def between(a, b, lengths, out, limit, M: ConstInt, N: ConstInt, K: ConstInt):
    """Some blocks end behind the first of two dots that they have stored."""
    row = ct.bid(0)
    acc = _dot(a, b, row, M, N, K, ct.zeros((M, N), dtype=ct.float32))
    ct.store(out, (row, 0), acc)
    if row < limit:
        return
    ct.store(out, (row, 0), _dot(a, b, row, M, N, K, acc))


def in_a_loop(a, b, lengths, out, limit, M: ConstInt, N: ConstInt, K: ConstInt):
    """Each block has every so many-th tile, up to the first one past a limit."""
    for row in range(ct.bid(0), ct.num_tiles(a, axis=0, shape=(M, K)), ct.num_blocks(0)):
        if row >= limit:
            return
        ct.store(out, (row, 0), _dot(a, b, row, M, N, K, ct.zeros((M, N), dtype=ct.float32)))


def in_a_while_loop(a, b, lengths, out, limit, M: ConstInt, N: ConstInt, K: ConstInt):
    """The same, which Tile IR has as a return inside a loop."""
    row = ct.bid(0)
    while row < ct.num_tiles(a, axis=0, shape=(M, K)):
        if row >= limit:
            return
        ct.store(out, (row, 0), _dot(a, b, row, M, N, K, ct.zeros((M, N), dtype=ct.float32)))
        row = row + ct.num_blocks(0)


def once_in_a_while_loop(a, b, lengths, out, limit, M: ConstInt, N: ConstInt, K: ConstInt):
    """The loop's body ends with a return."""
    row = ct.bid(0)
    while row < limit:
        ct.store(out, (row, 0), _dot(a, b, row, M, N, K, ct.zeros((M, N), dtype=ct.float32)))
        return


def between_steps(a, b, lengths, out, limit, M: ConstInt, N: ConstInt, K: ConstInt):
    """A return stands between the steps of a dot."""
    row = ct.bid(0)
    length = ct.load(lengths, (row,), (1,)).item()
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        if k == length:
            ct.store(out, (row, 0), acc)
            return
        acc = _step(a, b, row, k, M, N, K, acc)
    ct.store(out, (row, 0), acc + 1)


def while_there_are_steps(a, b, lengths, out, limit, M: ConstInt, N: ConstInt, K: ConstInt):
    """A while loop multiplies, and breaks."""
    row, k = ct.bid(0), 0
    length = ct.load(lengths, (row,), (1,)).item()
    acc = ct.zeros((M, N), dtype=ct.float32)
    while k < ct.num_tiles(a, axis=1, shape=(M, K)):
        if k == length:
            break
        acc = _step(a, b, row, k, M, N, K, acc)
        k = k + 1
    ct.store(out, (row, 0), acc + k)


def while_a_result_is_small(a, b, lengths, out, limit, M: ConstInt, N: ConstInt, K: ConstInt):
    """A dot says whether another one comes."""
    row, times = ct.bid(0), 0
    length = ct.load(lengths, (row,), (1,)).item()
    acc = ct.zeros((M, N), dtype=ct.float32)
    while ct.max(acc).item() < limit and times < length:
        acc = _dot(a, b, row, M, N, K, acc)
        times = times + 1
    ct.store(out, (row, 0), acc)


def in_nested_loops(a, b, lengths, out, limit, M: ConstInt, N: ConstInt, K: ConstInt):
    """A return from a while loop in another one, behind a dot in front of both."""
    row, outer = ct.bid(0), 0
    length = ct.load(lengths, (row,), (1,)).item()
    acc = _dot(a, b, row, M, N, K, ct.zeros((M, N), dtype=ct.float32))
    while outer < 2:
        inner = 0
        while inner < 2:
            if outer * 2 + inner == length:
                ct.store(out, (row, 0), acc)
                return
            acc = _dot(a, b, row, M, N, K, acc)
            inner = inner + 1
        outer = outer + 1
    ct.store(out, (row, 0), -acc)


def behind_a_store_in_a_loop(a, b, lengths, out, limit, M: ConstInt, N: ConstInt, K: ConstInt):
    """Each turn of a while loop stores its dot, returns or stores another one; the last dot comes behind the loop."""
    row = ct.bid(0)
    while row < ct.num_tiles(a, axis=0, shape=(M, K)):
        acc = _dot(a, b, row, M, N, K, ct.zeros((M, N), dtype=ct.float32))
        ct.store(out, (row, 0), acc)
        if ct.load(lengths, (row,), (1,)).item() == 0:
            return
        ct.store(out, (row, 0), _dot(a, b, row, M, N, K, acc))
        row = row + ct.num_blocks(0)
    ct.store(out, (limit, 0), _dot(a, b, limit, M, N, K, ct.zeros((M, N), dtype=ct.float32)))


def after_a_tile(a, b, lengths, out, limit, M: ConstInt, N: ConstInt, K: ConstInt):
    """A tile of the result says which blocks return."""
    row = ct.bid(0)
    if ct.max(ct.load(out, (row, 0), (M, N))).item() > limit:
        return
    ct.store(out, (row, 0), _dot(a, b, row, M, N, K, ct.zeros((M, N), dtype=ct.float32)))


def around_dots(a, b, lengths, out, limit, M: ConstInt, N: ConstInt, K: ConstInt):
    """A tile of the result says which blocks return before the dots, and a length which return after them."""
    row = ct.bid(0)
    if ct.max(ct.load(out, (row, 0), (M, N))).item() > limit:
        return
    acc = _dot(a, b, row, M, N, K, ct.zeros((M, N), dtype=ct.float32))
    if ct.load(lengths, (row,), (1,)).item() == 0:
        return
    ct.store(out, (row, 0), acc)


def divided(a, b, lengths, out, limit, M: ConstInt, N: ConstInt, K: ConstInt):
    """Behind a return stands a division by what was 0 there, and a load from where it says."""
    row = ct.bid(0)
    if limit == 0:
        return
    length = ct.load(lengths, (row // limit,), (1,)).item()
    if length == 0:
        return
    acc = _dot(a, b, row // length, M, N, K, ct.zeros((M, N), dtype=ct.float32))
    ct.store(out, (row, 0), acc)


def chosen(a, b, lengths, out, limit, M: ConstInt, N: ConstInt, K: ConstInt):
    """Only blocks up to ``limit`` multiply."""
    row = ct.bid(0)
    if row < limit:
        ct.store(out, (row, 0), _dot(a, b, row, M, N, K, ct.zeros((M, N), dtype=ct.float32)))


def either(a, b, lengths, out, limit, M: ConstInt, N: ConstInt, K: ConstInt):
    """Some blocks multiply once, and others twice, where an array says so; a third dot comes for all."""
    row = ct.bid(0)
    length = ct.load(lengths, (row,), (1,)).item()
    acc = ct.zeros((M, N), dtype=ct.float32)
    if row < limit:
        acc = _dot(a, b, row, M, N, K, acc)
    else:
        if length > 1:
            acc = _dot(a, b, row, M, N, K, acc)
            acc = _dot(a, b, row, M, N, K, acc)
        else:
            ct.store(out, (row, 0), acc)
            return
    acc = _dot(a, b, row, M, N, K, acc)
    ct.store(out, (row, 0), acc)


def some_of_a_loop(a, b, lengths, out, limit, M: ConstInt, N: ConstInt, K: ConstInt):
    """Of the tiles of a block only some are multiplied."""
    for row in range(ct.num_tiles(a, axis=0, shape=(M, K))):
        if row != limit:
            acc = ct.zeros((M, N), dtype=ct.float32)
            for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
                x = ct.load(a, (row, k), (M, K), padding_mode=ZERO)
                y = ct.load(b, (k, 0), (K, N), padding_mode=ZERO)
                acc = ct.mma(x, y, acc)
            ct.store(out, (row, 0), acc)


def bounded_by_a_branch(a, b, lengths, out, limit, M: ConstInt, N: ConstInt, K: ConstInt):
    """A branch says how many steps a dot has, and from where on."""
    row = ct.bid(0)
    steps = ct.num_tiles(a, axis=1, shape=(M, K))
    first = 0
    if row < limit:
        steps = ct.load(lengths, (row,), (1,)).item()
    else:
        first = 1
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(first, steps):
        acc = _step(a, b, row, k, M, N, K, acc)
    ct.store(out, (row, 0), acc)


def expert(a, b, lengths, out, limit, M: ConstInt, N: ConstInt, K: ConstInt):
    """Rows of tiles are looked up, with arithmetic on a tile of one element, where a block has one."""
    row = ct.bid(0)
    if row < limit:
        source = (ct.load(lengths, (row,), (1,)) + 1).item() - 1
        other = ct.gather(lengths, row)
        acc = _dot(a, b, (source + other) // 2, M, N, K, ct.zeros((M, N), dtype=ct.float32))
        ct.store(out, (row, 0), acc)


def stores_in_the_loop(a, b, lengths, out, limit, M: ConstInt, N: ConstInt, K: ConstInt):
    """Each step stores the accumulator to columns of its own."""
    row = ct.bid(0)
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        acc = _step(a, b, row, k, M, N, K, acc)
        ct.store(out, (row, k), acc)


def behind_another_grid(a, b, lengths, out, limit, M: ConstInt, N: ConstInt, K: ConstInt):
    """All loads come behind the grid that this one depends on."""
    row = ct.bid(0)
    ct.grid_dependency_control_wait()
    if row < ct.load(lengths, (row,), (1,)).item():
        ct.store(out, (row, 0), _dot(a, b, row, M, N, K, ct.zeros((M, N), dtype=ct.float32)))
    ct.grid_dependency_control_launch_dependents()


def once(a, b, lengths, out, limit, M: ConstInt, N: ConstInt, K: ConstInt):
    """No loop: a dot, and in a branch another one of what follows along k."""
    row = ct.bid(0)
    acc = _step(a, b, row, 0, M, N, K, ct.zeros((M, N), dtype=ct.float32))
    if row < limit:
        acc = _step(a, b, row, 1, M, N, K, acc)
    ct.store(out, (row, 0), acc)


def groups(a, b, lengths, out, limit, M: ConstInt, N: ConstInt, K: ConstInt):
    """A persistent loop over groups of rows whose lengths are loaded: a while loop in a counted one, with what both carry."""
    row, first = ct.bid(0), 0
    for group in range(limit):
        count = ct.load(lengths, (group,), (1,)).item()
        while row < first + count:
            if row != 1:
                acc = _dot(a, b, row, M, N, K, ct.zeros((M, N), dtype=ct.float32))
                ct.store(out, (row, 0), acc + group)
            row = row + ct.num_blocks(0)
        first = first + count


def searched(a, b, lengths, out, limit, M: ConstInt, N: ConstInt, K: ConstInt):
    """A loop searches the first row whose number is that of the block."""
    row, source = ct.bid(0), 0
    while source < limit:
        if ct.load(lengths, (source,), (1,)).item() == row:
            break
        source = source + 1
    if source == limit:
        return
    ct.store(out, (row, 0), _dot(a, b, source, M, N, K, ct.zeros((M, N), dtype=ct.float32)))


def gathered(a, b, lengths, out, limit, M: ConstInt, N: ConstInt, K: ConstInt):
    """Rows gathered by index are multiplied by what a loaded place says, where there are rows (a mixture of experts)."""
    row = ct.bid(0)
    if row * M < limit:
        place = ct.load(lengths, (row,), (1,)).item()
        rows = row * M + (M - 1) - ct.arange(M, dtype=ct.int32)
        acc = ct.zeros((M, N), dtype=ct.float32)
        for k in range(ct.num_tiles(a, axis=1, shape=(M, K)) - place):
            columns = k * K + ct.arange(K, dtype=ct.int32)
            x = ct.gather(a, (rows[:, None], columns[None, :]))
            y = ct.load(b, (k + place, 0), (K, N), padding_mode=ZERO)
            acc = ct.mma(x, y, acc)
        ct.store(out, (row, 0), acc)


def scattered(a, b, lengths, out, limit, M: ConstInt, N: ConstInt, K: ConstInt):
    """Each step stores to the columns that the next one gathers: no load runs ahead of that store."""
    row = ct.bid(0)
    rows = row * M + ct.arange(M, dtype=ct.int32)
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        columns = k * K + ct.arange(K, dtype=ct.int32)
        x = ct.gather(a, (rows[:, None], columns[None, :]))
        ct.scatter(a, (rows[:, None], columns[None, :] + K), x)
        y = ct.load(b, (k, 0), (K, N), padding_mode=ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(out, (row, 0), acc)


def counted_down(a, b, lengths, out, limit, M: ConstInt, N: ConstInt, K: ConstInt):
    """How often the dot is added stands in an array that the kernel writes: each time one less."""
    row = ct.bid(0)
    acc = ct.zeros((M, N), dtype=ct.float32)
    while ct.load(lengths, (row,), (1,)).item() > 0:
        acc = _dot(a, b, row, M, N, K, acc)
        ct.store(lengths, (row,), ct.load(lengths, (row,), (1,)) - 1)
    ct.store(out, (row, 0), acc)


def overwritten(a, b, lengths, out, limit, M: ConstInt, N: ConstInt, K: ConstInt):
    """The array that says which rows are multiplied is overwritten behind the branch."""
    row = ct.bid(0)
    if ct.load(lengths, (row,), (1,)).item() > limit:
        ct.store(lengths, (row,), ct.zeros((1,), dtype=ct.int32))
        if ct.load(lengths, (row,), (1,)).item() == 0:
            ct.store(out, (row, 0), _dot(a, b, row, M, N, K, ct.zeros((M, N), dtype=ct.float32)))


def _case(name, function, shape, **hints):
    rows = Array("float16", 2, stride_divisible_by=8, shape_divisible_by=(1, 8))
    lengths = Array("int32", 1)
    out = Array("float32", 2, stride_divisible_by=4, shape_divisible_by=(1, 4))
    return Case(name, ct.kernel(function, **hints), (rows, rows, lengths, out, Scalar("int32"), *shape))


CASES = [
    _case("guarded", guarded, (128, 64, 64)),
    _case("guarded_2ctas", guarded, (256, 64, 64), num_ctas=2),
    _case("looked_up", looked_up, (128, 64, 64)),
    _case("between", between, (128, 64, 64)),
    _case("in_a_loop", in_a_loop, (128, 64, 64)),
    _case("in_a_while_loop", in_a_while_loop, (128, 64, 64)),
    _case("once_in_a_while_loop", once_in_a_while_loop, (128, 64, 64)),
    _case("after_a_tile", after_a_tile, (128, 64, 64)),
    _case("around_dots", around_dots, (128, 64, 64)),
    _case("between_steps", between_steps, (128, 64, 64)),
    _case("while_there_are_steps", while_there_are_steps, (128, 64, 64)),
    _case("while_a_result_is_small", while_a_result_is_small, (128, 64, 64)),
    _case("in_nested_loops", in_nested_loops, (128, 64, 64)),
    _case("behind_a_store_in_a_loop", behind_a_store_in_a_loop, (128, 64, 64)),
    _case("divided", divided, (128, 64, 64)),
    _case("chosen", chosen, (128, 64, 64)),
    _case("chosen_2ctas", chosen, (256, 64, 64), num_ctas=2),
    _case("either", either, (128, 64, 64)),
    _case("some_of_a_loop", some_of_a_loop, (128, 64, 64)),
    _case("bounded_by_a_branch", bounded_by_a_branch, (128, 64, 64)),
    _case("expert", expert, (128, 64, 64)),
    _case("stores_in_the_loop", stores_in_the_loop, (128, 64, 64)),
    _case("behind_another_grid", behind_another_grid, (128, 64, 64)),
    _case("once", once, (128, 64, 64)),
    _case("groups", groups, (128, 64, 64)),
    _case("searched", searched, (128, 64, 64)),
    _case("gathered", gathered, (128, 64, 64)),
    _case("scattered", scattered, (128, 64, 64)),
    _case("counted_down", counted_down, (128, 64, 64)),
    _case("overwritten", overwritten, (128, 64, 64)),
]
