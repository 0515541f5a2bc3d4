// Many registers of a group of threads at once.
#include "kernels.h"

Python python;  // set once the kernels are loaded

i64 set_python(i64 head, i64 array, i64 scalar, i64 float32) {
    python = (Python){head, array, scalar, float32};
    return 0;
}

// Writes where arrays begin: 0 for objects that are no contiguous (rows, columns) arrays of their kind. Returns the number of zeros.
i64 find_arrays(const i64 *objects, const i64 *kinds, i64 *out, i64 count, i64 rows, i64 columns) {
    i64 missing = 0;
    for (i64 n = 0; n < count; n++) {
        const Array *array = array_of(objects[n]);
        int is_matrix = array && array->nd == 2 && array->dimensions[0] == rows && array->dimensions[1] == columns;
        out[n] = is_matrix && array->flags & 1 && array->descr == kinds[n] ? array->data : 0;
        missing += !out[n];
    }
    return missing;
}

// Copies rows of ``bytes`` of each value, from those at ``from_rows`` of a source to those at ``to_rows`` of ``out``.
i64 move_rows(const i64 *sources, char *out, const i64 *from_rows, const i64 *to_rows, i64 values, i64 size, i64 rows,
              i64 from_apart, i64 to_apart, i64 bytes) {
    for (i64 v = 0; v < values; v++)
        for (i64 r = 0; r < rows; r++)
            memcpy(out + v * size + to_rows[r] * to_apart, (const char *)sources[v] + from_rows[r] * from_apart, bytes);
    return 0;
}

// Copies the words of each value to their ``places`` in a row of ``out``.
i64 spread_words(const i64 *sources, u32 *out, const i64 *places, i64 values, i64 size, i64 count) {
    for (i64 v = 0; v < values; v++)
        for (i64 i = 0; i < count; i++)
            out[v * size + places[i]] = ((const u32 *)sources[v])[i];
    return 0;
}

typedef struct { u32 lanes[32]; } LaneRow;

// tcgen05.ld, or .st: registers of warps from, or to, rows of cells.
i64 move_cells(const i64 *places, LaneRow *cells, const i64 *bases, const i64 *offsets, i64 registers, i64 warps, i64 is_store) {
    for (i64 r = 0; r < registers; r++)
        for (i64 w = 0; w < warps; w++) {
            LaneRow *cell = cells + bases[w] + offsets[r], *lanes = (LaneRow *)places[r] + w;
            memcpy(is_store ? cell : lanes, is_store ? lanes : cell, sizeof(LaneRow));
        }
    return 0;
}
