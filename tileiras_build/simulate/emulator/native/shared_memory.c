// Accesses to shared memory, with all checks: kernels that return i64 return whether one fails, and then NumPy reports the fault.
// Marks are bytes per word, 0 if no copy to it is in flight.
#include "kernels.h"

typedef struct { u32 words[4]; } Chunk;
typedef struct { u64 words[2]; } Row;

INLINE u32 mark_of(const u8 *marks, i64 place) { u32 mark; memcpy(&mark, marks + place / 16 * 4, 4); return mark; }

// ---- ldmatrix --------------------------------------------------------------------------------------------------------
// The addresses of a CTA are ``apart`` words from those of the CTA before, registers of ``out`` are ``size_out`` bytes.
i64 load_matrices(char *out, const u32 *addresses, const i64 *ctas, const char *shared, const u8 *marks, i64 rows, i64 warps,
                  i64 apart, i64 size_out, i64 offset, i64 size, i64 last, i64 count, i64 is_transposed, i64 is_marked) {
    u32 waits = 0;
    for (i64 c = 0; c < rows; c++)
        for (i64 w = 0; w < warps; w++)
            for (i64 m = 0; m < count; m++) {
                const u32 *places = addresses + c * apart + w * 32 + m * 8;
                const char *bytes = shared + ctas[c] * size;
                row16 matrix[8];
                for (int i = 0; i < 8; i++) {
                    u32 place = places[i] + (u32)offset;
                    if (place > (u32)last || place & 15)
                        return 1;
                    memcpy(matrix + i, bytes + place, 16);
                    waits |= is_marked ? mark_of(marks + ctas[c] * size / 4, place) : 0;
                }
                if (is_transposed)
                    transpose(matrix);
                memcpy(out + m * size_out + (c * warps + w) * 128, matrix, 128);
            }
    return waits != 0;
}

// ---- consecutive loads of words, and stores of four ----------------------------------------------------------------------
typedef struct {
    const i64 *places, *aparts, *offsets, *ctas;
    i64 sites, rows, threads, size, last;
} Accesses;

INLINE const u32 *places_of(const Accesses *all, i64 site, i64 row) {
    return (const u32 *)all->places[site] + row * all->aparts[site];
}

// Whether an address is misaligned, out of bounds or marked.
INLINE int is_refused(const Accesses *all, const u8 *marks, u32 low) {
    for (i64 s = 0; s < all->sites; s++)
        for (i64 c = 0; c < all->rows; c++) {
            const u32 *places = places_of(all, s, c);
            u32 offset = all->offsets[s], last = all->last, wrong = 0, waits = 0;
            for (i64 t = 0; t < all->threads; t++)
                wrong |= (places[t] + offset > last) | ((places[t] + offset & low) != 0);
            if (wrong)
                return 1;
            for (i64 t = 0; marks && t < all->threads; t++)
                waits |= mark_of(marks + all->ctas[c] * all->size / 4, places[t] + offset);
            if (waits)
                return 1;
        }
    return 0;
}

i64 load_words(u32 *out, const Accesses *all, const char *shared, const u8 *marks) {
    if (is_refused(all, marks, 3))
        return 1;
    for (i64 s = 0; s < all->sites; s++)
        for (i64 c = 0; c < all->rows; c++, out += all->threads) {
            const u32 *places = places_of(all, s, c), *words = (const u32 *)(shared + all->ctas[c] * all->size);
            u32 offset = all->offsets[s];
            for (i64 t = 0; t < all->threads; t++)
                out[t] = words[(places[t] + offset) / 4];
        }
    return 0;
}

i64 store_chunks(const i64 *sources, const Accesses *all, char *shared, const u8 *marks) {
    if (is_refused(all, marks, 15))
        return 1;
    for (i64 s = 0; s < all->sites; s++)
        for (i64 c = 0; c < all->rows; c++) {
            const u32 *places = places_of(all, s, c);
            char *bytes = shared + all->ctas[c] * all->size;
            for (i64 t = 0; t < all->threads; t++) {
                Chunk chunk;
                for (int i = 0; i < 4; i++)
                    chunk.words[i] = ((const u32 *)sources[4 * s + i])[c * all->threads + t];
                memcpy(bytes + (u32)(places[t] + (u32)all->offsets[s]), &chunk, 16);
            }
        }
    return 0;
}

// ---- cp.async --------------------------------------------------------------------------------------------------------
typedef struct {
    i64 *index;
    char *data;
    const u32 *to;
    const u64 *source;
    const u32 *sizes;  // null: all elements are read
    const i64 *ctas;
    u8 *marks;
    i64 rows, threads, to_apart, source_apart, sizes_apart, to_offset, source_offset, at, pad, limit, size, last, mark, bytes;
} Issue;

INLINE i64 issue_elements(const Issue *all, const u32 bytes) {
    const u32 low = bytes - 1;
    for (i64 c = 0; c < all->rows; c++)
        for (i64 t = 0; t < all->threads; t++) {
            i64 n = c * all->threads + t;
            u32 place = all->to[c * all->to_apart + t] + (u32)all->to_offset;
            u32 given = all->sizes ? all->sizes[c * all->sizes_apart + t] : bytes;
            if (place & low || place > (u32)all->last || (given && given != bytes))
                return 1;
            memset(all->data + n * bytes, 0, bytes);
            if (given) {
                u64 offset = all->source[c * all->source_apart + t] + all->source_offset;
                if (offset & low || offset - all->pad > (u64)all->limit)
                    return 1;
                memcpy(all->data + n * bytes, (const char *)all->at + offset, bytes);
            }
            all->index[n] = (place + all->ctas[c] * all->size) / bytes;
            memset(all->marks + all->index[n] * (bytes / 4), all->mark, bytes / 4);
        }
    return 0;
}

i64 issue_copies(const Issue *all) {
    return all->bytes == 16 ? issue_elements(all, 16) : all->bytes == 8 ? issue_elements(all, 8) : issue_elements(all, 4);
}

INLINE void land_elements(const i64 *index, const char *data, char *shared, u8 *marks, i64 count, const int bytes) {
    for (i64 n = 0; n < count; n++) {
        memcpy(shared + index[n] * bytes, data + n * bytes, bytes);
        memset(marks + index[n] * (bytes / 4), 0, bytes / 4);
    }
}

i64 land_copies(const i64 *index, const char *data, char *shared, u8 *marks, i64 count, i64 bytes) {
    if (bytes == 16)
        land_elements(index, data, shared, marks, count, 16);
    else if (bytes == 8)
        land_elements(index, data, shared, marks, count, 8);
    else
        land_elements(index, data, shared, marks, count, 4);
    return 0;
}

// ---- boxes of TMA, and operands in shared memory -----------------------------------------------------------------------
// float32 to tf32, to nearest even; infinities and NaNs stay.
INLINE u32 tf32_of(u32 bits) {
    u32 rounded = bits + (bits >> 13 & 1) + 4095 & ~8191u;
    return (bits & 0x7F800000) != 0x7F800000 ? rounded : bits;
}

i64 land_boxes(Chunk *shared, u32 *marks, const char *source, const i64 *corners, const i64 *steps, const i64 *targets, i64 boxes,
               i64 rows, i64 chunks, i64 start, i64 mask, i64 shift, i64 is_rounded) {
    for (i64 b = 0; b < boxes; b++)
        for (i64 r = 0; r < rows; r++)
            for (i64 k = 0; k < chunks; k++) {
                i64 number = start + r * chunks + k;
                i64 place = targets[b] + (number ^ (number >> 3 & mask) << shift);
                Chunk chunk;
                memcpy(&chunk, source + corners[b] + steps[r] + 16 * k, 16);
                for (int i = 0; is_rounded && i < 4; i++)
                    chunk.words[i] = tf32_of(chunk.words[i]);
                shared[place] = chunk;
                marks[place] = 0;
            }
    return 0;
}

// Whether one of the chunks ``places`` after each of ``starts`` is marked; copies them.
i64 gather_chunks(Chunk *out, const Chunk *shared, const u32 *marks, const i64 *starts, const i64 *places, i64 ctas, i64 count) {
    u32 found = 0;
    for (i64 c = 0; c < ctas; c++)
        for (i64 i = 0; i < count; i++) {
            *out++ = shared[starts[c] + places[i]];
            found |= marks ? marks[starts[c] + places[i]] : 0;
        }
    return found != 0;
}

i64 chunks_differ(const Row *before, const Row *shared, const i64 *starts, const i64 *places, i64 ctas, i64 count) {
    u64 found = 0;
    for (i64 c = 0; c < ctas; c++)
        for (i64 i = 0; i < count; i++, before++) {
            const Row *now = shared + starts[c] + places[i];
            found |= (now->words[0] ^ before->words[0]) | (now->words[1] ^ before->words[1]);
        }
    return found != 0;
}
