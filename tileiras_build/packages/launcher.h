#ifndef @@_H
#define @@_H

#include <stddef.h>
#include <stdint.h>

#include <cuda.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The GPUs that there is machine code for. */
#define @@_TARGETS "@{targets}@"

typedef struct @_library @_library;

/* Blocks along each axis. */
typedef struct {
    unsigned x, y, z;
} @_grid;

/* A library from an image in memory (the contents of @{file}@), which must outlive it. Loads nothing yet. */
CUresult @_open(@_library **library, const void *image, size_t size);

/* The same from the file. */
CUresult @_open_file(@_library **library, const char *path);

/* The same from the array in @_image.c, where that is linked in. */
CUresult @_open_embedded(@_library **library);

/* Unloads every kernel. */
void @_close(@_library *library);

/*
 * Each function below launches one kernel on the current context's GPU. The first launch of a kernel loads it and must
 * not run beside another launch of it. Results besides the driver's: CUDA_ERROR_NO_BINARY_FOR_GPU where the kernel was
 * built for none like this GPU. A grid counts tile blocks, whether one CTA or a cluster executes each.
 * An array travels as its address, lengths and strides (in elements), floats of 16 and 8 bits as their bits.
 */

@{functions}@

#ifdef __cplusplus
}
#endif

#endif
