#include "@.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNELS @{kernel_count}@
#define IMAGES @{image_count}@
#define TENSOR_MAPS @{map_count}@
#define IMAGE_SIZE @{size}@u
#define COMMON_SHARED_MEMORY @{common_shared_memory}@u /* bytes that a kernel may take without asking */

/* A number (parameter -1), or an integer parameter of so many bytes times a factor, divided. */
typedef struct {
    int parameter, bytes;
    long long factor;
    int divisor;
} value;

typedef struct {
    int parameter, base, rank;
    CUtensorMapDataType element;
    CUtensorMapInterleave interleave;
    CUtensorMapSwizzle swizzle;
    CUtensorMapL2promotion l2_promotion;
    CUtensorMapFloatOOBfill fill;
    value shape[5], strides[4];
    cuuint32_t box[5], steps[5];
} tensor_map_row;

/* One form of a kernel: the GPU that it was made for, the last one that it runs on, and how it is launched. */
typedef struct {
    int number, highest;
    size_t offset, size;
    unsigned threads, shared_memory;
    int first_map, maps;
} image_row;

/* The kernel's images, the best first. */
typedef struct {
    const char *entry;
    int first_image, images;
} kernel_row;

static const tensor_map_row tensor_maps[] = {
@{tensor_maps}@
};

static const image_row images[] = {
@{images}@
};

static const kernel_row kernels[] = {
@{kernels}@
};

/* The most shared memory that a block gets, in bytes, on each GPU that is known. */
static const struct {
    int number;
    unsigned most;
} shared_memory[] = {@{shared_memory}@};

/* GPUs of systems on chips share cubins with no other. */
static const int embedded[] = {@{embedded}@};

struct @_library {
    const unsigned char *image;
    void *owned;
    CUlibrary libraries[IMAGES];
    CUkernel loaded[IMAGES];
    unsigned long long allowed[IMAGES]; /* one bit for each GPU that knows the kernel's shared memory */
};

static CUresult make(@_library **library, const void *image, size_t size, void *owned)
{
    *library = NULL;
    if (size != IMAGE_SIZE)
        return CUDA_ERROR_INVALID_IMAGE;
    *library = (@_library *)calloc(1, sizeof **library);
    if (!*library)
        return CUDA_ERROR_OUT_OF_MEMORY;
    (*library)->image = (const unsigned char *)image;
    (*library)->owned = owned;
    return CUDA_SUCCESS;
}

CUresult @_open(@_library **library, const void *image, size_t size)
{
    return make(library, image, size, NULL);
}

CUresult @_open_file(@_library **library, const char *path)
{
    CUresult status;
    size_t size = 0;
    void *data;
    FILE *file = fopen(path, "rb");
    *library = NULL;
    if (!file)
        return CUDA_ERROR_FILE_NOT_FOUND;
    data = malloc(IMAGE_SIZE + 1);
    if (data)
        size = fread(data, 1, IMAGE_SIZE + 1, file);
    fclose(file);
    status = data ? make(library, data, size, data) : CUDA_ERROR_OUT_OF_MEMORY;
    if (status)
        free(data);
    return status;
}

void @_close(@_library *library)
{
    int index;
    if (!library)
        return;
    for (index = 0; index < IMAGES; ++index)
        if (library->libraries[index])
            cuLibraryUnload(library->libraries[index]);
    free(library->owned);
    free(library);
}

static int runs_on(const image_row *image, int number)
{
    size_t index;
    for (index = 0; index < sizeof shared_memory / sizeof shared_memory[0]; ++index)
        if (number == shared_memory[index].number && image->shared_memory > shared_memory[index].most)
            return 0;
    if (number == image->number)
        return 1;
    if (number < image->number || number > image->highest)
        return 0;
    for (index = 0; index < sizeof embedded / sizeof embedded[0]; ++index)
        if (number == embedded[index])
            return image->highest == 0x7fffffff;
    return 1;
}

static CUresult find_image(int kernel, CUdevice device, int *found)
{
    const kernel_row *row = &kernels[kernel];
    int major, minor;
    CUresult status = cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    if (!status)
        status = cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    if (status)
        return status;
    for (*found = row->first_image; *found < row->first_image + row->images; ++*found)
        if (runs_on(&images[*found], 10 * major + minor))
            return CUDA_SUCCESS;
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

static CUresult load(@_library *library, const char *entry, int index)
{
    CUresult status;
    if (library->loaded[index])
        return CUDA_SUCCESS;
    if (!library->libraries[index]) {
        status = cuLibraryLoadData(&library->libraries[index], library->image + images[index].offset, NULL, NULL, 0,
                                   NULL, NULL, 0);
        if (status)
            return status;
    }
    return cuLibraryGetKernel(&library->loaded[index], library->libraries[index], entry);
}

static CUresult allow_shared_memory(@_library *library, int index, CUdevice device)
{
    unsigned long long bit = device < 64 ? 1ull << device : 0;
    CUresult status;
    if (images[index].shared_memory <= COMMON_SHARED_MEMORY || (library->allowed[index] & bit))
        return CUDA_SUCCESS;
    status = cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)images[index].shared_memory,
                                  library->loaded[index], device);
    if (!status)
        library->allowed[index] |= bit;
    return status;
}

static cuuint64_t evaluate(const value *value, void **params)
{
    int32_t word;
    int64_t wide;
    if (value->parameter < 0)
        return (cuuint64_t)value->factor;
    if (value->bytes == 8) {
        memcpy(&wide, params[value->parameter], 8);
        return (cuuint64_t)(wide * value->factor / value->divisor);
    }
    memcpy(&word, params[value->parameter], 4);
    return (cuuint64_t)(word * value->factor / value->divisor);
}

static CUresult encode(CUtensorMap *map, const tensor_map_row *row, void **params)
{
    cuuint64_t shape[5], strides[5];
    CUdeviceptr base;
    int dim;
    for (dim = 0; dim < row->rank; ++dim) {
        shape[dim] = evaluate(&row->shape[dim], params);
        if (shape[dim] == 0)
            shape[dim] = 1; /* the driver knows no empty tensor */
    }
    for (dim = 0; dim + 1 < row->rank; ++dim)
        strides[dim] = evaluate(&row->strides[dim], params);
    memcpy(&base, params[row->base], sizeof base);
    return cuTensorMapEncodeTiled(map, row->element, (cuuint32_t)row->rank, (void *)(uintptr_t)base, shape, strides,
                                  row->box, row->steps, row->interleave, row->swizzle, row->l2_promotion, row->fill);
}

static CUresult enqueue(@_library *library, int index, @_grid grid, CUstream stream, void **params)
{
    const image_row *image = &images[index];
    CUlaunchConfig config;
    memset(&config, 0, sizeof config);
    config.gridDimX = grid.x, config.gridDimY = grid.y, config.gridDimZ = grid.z;
    config.blockDimX = image->threads, config.blockDimY = config.blockDimZ = 1;
    config.sharedMemBytes = image->shared_memory;
    config.hStream = stream;
    return cuLaunchKernelEx(&config, (CUfunction)library->loaded[index], params, NULL);
}

static CUresult launch(@_library *library, int kernel, @_grid grid, CUstream stream, void **params)
{
    /* C99 cannot align a variable, and the driver refuses a descriptor that is not on 64 bytes. */
    unsigned char room[TENSOR_MAPS * sizeof(CUtensorMap) + 63];
    CUtensorMap *maps = (CUtensorMap *)(((uintptr_t)room + 63) & ~(uintptr_t)63);
    CUdevice device;
    int index, map;
    CUresult status = cuCtxGetDevice(&device);
    if (!status)
        status = find_image(kernel, device, &index);
    if (status)
        return status;
    status = load(library, kernels[kernel].entry, index);
    if (!status)
        status = allow_shared_memory(library, index, device);
    for (map = 0; !status && map < images[index].maps; ++map) {
        const tensor_map_row *row = &tensor_maps[images[index].first_map + map];
        status = encode(&maps[map], row, params);
        params[row->parameter] = &maps[map];
    }
    return status ? status : enqueue(library, index, grid, stream, params);
}

@{functions}@
