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

/*
 * Threads: every function but @_close may run in any number of threads at once, on one library too. The first launch of a
 * kernel loads it, and others of it wait meanwhile; after @_load_all no launch loads or waits. @_close must be the last.
 *
 * Status: CUDA_SUCCESS, or the driver's own; CUDA_ERROR_NO_BINARY_FOR_GPU where a kernel was built for none like this GPU;
 * CUDA_ERROR_INVALID_VALUE where a launch is refused before the driver sees it, because the kernel was not built for what
 * it is given. @_error_string says which parameter, and why.
 */
typedef struct @_library @_library;

/* Tile blocks along each axis, whether one CTA or a cluster executes each. */
typedef struct {
    unsigned x, y, z;
} @_grid;

@{tensors}@

/* A library from an image in memory (the contents of @{file}@), which must outlive it. Loads nothing yet. */
CUresult @_open(@_library **library, const void *image, size_t size);

/* The same from the file. */
CUresult @_open_file(@_library **library, const char *path);

/* The same from the array in @_image.c, where that is linked in. */
CUresult @_open_embedded(@_library **library);

/* Loads every kernel that there is an image of for the current context's GPU, so that its launches there load nothing. */
CUresult @_load_all(@_library *library);

/* Unloads every kernel. None may be running. */
void @_close(@_library *library);

/* What went wrong, in one sentence: of this thread's last call where that had this status, else the driver's words for it.
 * It stands until this thread's next call. */
const char *@_error_string(CUresult status);

/*
 * Each function below launches one kernel on the current context's GPU. Its arguments have the names of the kernel's source;
 * floats of 16 and 8 bits travel as their bits.
 */

@{functions}@

#ifdef __cplusplus
}
#endif

#endif
