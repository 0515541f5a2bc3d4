#include "@.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNELS @{kernel_count}@
#define IMAGES @{image_count}@
#define TENSOR_MAPS @{map_count}@
#define IMAGE_SIZE @{size}@u
#define PARAMETERS @{parameter_count}@ /* the most that a kernel has, tensor maps among them */
#define BLOCK @{block_size}@ /* bytes of them, but for tensor maps */
#define COMMON_SHARED_MEMORY @{common_shared_memory}@u /* bytes that a kernel may take without asking */

#if defined(__cplusplus)
#define PER_THREAD thread_local
#elif defined(_MSC_VER)
#define PER_THREAD __declspec(thread)
#else
#define PER_THREAD __thread
#endif

#if defined(_MSC_VER)
#include <intrin.h>
#define READ_READY(place) ((unsigned long long)_InterlockedOr64((volatile long long *)(place), 0))
#define ADD_READY(place, bits) ((void)_InterlockedOr64((volatile long long *)(place), (long long)(bits)))
#define LOCK(place) while (_InterlockedExchange((volatile long *)(place), 1)) continue
#define UNLOCK(place) ((void)_InterlockedExchange((volatile long *)(place), 0))
#else
#define READ_READY(place) __atomic_load_n(place, __ATOMIC_ACQUIRE)
#define ADD_READY(place, bits) ((void)__atomic_fetch_or(place, bits, __ATOMIC_RELEASE))
#define LOCK(place) while (__atomic_exchange_n(place, 1, __ATOMIC_ACQUIRE)) continue
#define UNLOCK(place) __atomic_store_n(place, 0, __ATOMIC_RELEASE)
#endif

/* What a parameter is to the argument that it is of. */
enum { AN_ADDRESS, A_LENGTH, A_STRIDE, AN_INTEGER, A_NUMBER };

/*
 * A parameter: where it stands in the caller's struct and in the kernel's block, and what it must be: a multiple of
 * ``factor`` from ``least`` to ``most``, ``fixed`` to the value ``least`` where the kernel is right for no other.
 */
typedef struct {
    const char *name;
    int role, axis, rank, bytes, fixed;
    size_t source, place;
    long long factor, least, most;
} parameter_row;

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
    const char *name, *symbol; /* for people, for the driver */
    int first_image, images, first_parameter, parameters;
} kernel_row;

static const parameter_row parameters[] = {
@{parameters}@
};

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
    unsigned long long ready[IMAGES]; /* a bit for each GPU on which the kernel may be launched */
    int lock; /* of whoever loads */
};

static PER_THREAD char sentence[512];
static PER_THREAD CUresult sentence_status;

/* Keeps what went wrong, for this thread. */
static CUresult refuse(CUresult status, const char *text, ...)
{
    va_list values;
    va_start(values, text);
    vsnprintf(sentence, sizeof sentence, text, values);
    va_end(values);
    sentence_status = status;
    return status;
}

/* The same of a function of the driver. */
static CUresult failed(CUresult status, const char *kernel, const char *function)
{
    const char *name = NULL;
    if (cuGetErrorName(status, &name) || !name)
        name = "an unknown error";
    return refuse(status, "kernel %s: %s failed: %s", kernel, function, name);
}

const char *@_error_string(CUresult status)
{
    const char *text = NULL;
    if (status && status == sentence_status)
        return sentence;
    return cuGetErrorString(status, &text) || !text ? "an unknown error" : text;
}

static CUresult make(@_library **library, const void *image, size_t size, void *owned)
{
    *library = NULL;
    sentence_status = CUDA_SUCCESS;
    if (size != IMAGE_SIZE)
        return refuse(CUDA_ERROR_INVALID_IMAGE, "this is not the image of library @: that has %lu bytes",
                      (unsigned long)IMAGE_SIZE);
    *library = (@_library *)calloc(1, sizeof **library);
    if (!*library)
        return refuse(CUDA_ERROR_OUT_OF_MEMORY, "there is no memory for library @");
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
        return refuse(CUDA_ERROR_FILE_NOT_FOUND, "the image of library @ cannot be read: %.400s", path);
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

/* The best image for the current context's GPU. */
static CUresult find_image(int kernel, CUdevice *device, int *found)
{
    const kernel_row *row = &kernels[kernel];
    int major = 0, minor = 0;
    CUresult status = cuCtxGetDevice(device);
    if (status)
        return failed(status, row->name, "cuCtxGetDevice");
    status = cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, *device);
    if (!status)
        status = cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, *device);
    if (status)
        return failed(status, row->name, "cuDeviceGetAttribute");
    for (*found = row->first_image; *found < row->first_image + row->images; ++*found)
        if (runs_on(&images[*found], 10 * major + minor))
            return CUDA_SUCCESS;
    return refuse(CUDA_ERROR_NO_BINARY_FOR_GPU, "kernel %s has no image for this GPU, sm_%d; build the library with sm=%d",
                  row->name, 10 * major + minor, 10 * major + minor);
}

/* Loads an image, and lets the kernel take its shared memory on a GPU. Whoever calls it holds the lock. */
static CUresult make_ready(@_library *library, const kernel_row *kernel, int index, CUdevice device)
{
    CUresult status;
    if (!library->libraries[index]) {
        status = cuLibraryLoadData(&library->libraries[index], library->image + images[index].offset, NULL, NULL, 0,
                                   NULL, NULL, 0);
        if (status)
            return failed(status, kernel->name, "cuLibraryLoadData");
    }
    if (!library->loaded[index]) {
        status = cuLibraryGetKernel(&library->loaded[index], library->libraries[index], kernel->symbol);
        if (status)
            return failed(status, kernel->name, "cuLibraryGetKernel");
    }
    if (images[index].shared_memory <= COMMON_SHARED_MEMORY)
        return CUDA_SUCCESS;
    status = cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)images[index].shared_memory,
                                  library->loaded[index], device);
    return status ? failed(status, kernel->name, "cuKernelSetAttribute") : CUDA_SUCCESS;
}

static CUresult load(@_library *library, const kernel_row *kernel, int index, CUdevice device)
{
    unsigned long long bit = device < 64 ? 1ull << device : 0;
    CUresult status = CUDA_SUCCESS;
    if (READ_READY(&library->ready[index]) & bit)
        return CUDA_SUCCESS;
    LOCK(&library->lock);
    if (!(READ_READY(&library->ready[index]) & bit)) {
        status = make_ready(library, kernel, index, device);
        if (!status)
            ADD_READY(&library->ready[index], bit);
    }
    UNLOCK(&library->lock);
    return status;
}

CUresult @_load_all(@_library *library)
{
    int kernel, index;
    CUdevice device;
    CUresult status;
    sentence_status = CUDA_SUCCESS;
    for (kernel = 0; kernel < KERNELS && kernels[kernel].name; ++kernel) {
        status = find_image(kernel, &device, &index);
        if (status == CUDA_ERROR_NO_BINARY_FOR_GPU)
            continue;
        if (!status)
            status = load(library, &kernels[kernel], index, device);
        if (status)
            return status;
    }
    return CUDA_SUCCESS;
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

/* ---- arguments -------------------------------------------------------------------------------------------------- */
static long long read_integer(const unsigned char *from, int bytes)
{
    int64_t wide;
    int32_t word;
    int16_t half;
    int8_t byte;
    switch (bytes) {
    case 8: memcpy(&wide, from, 8); return wide;
    case 4: memcpy(&word, from, 4); return word;
    case 2: memcpy(&half, from, 2); return half;
    default: memcpy(&byte, from, 1); return byte;
    }
}

/* Numbers are little-endian on every host that has a CUDA driver. */
static void write_integer(unsigned char *to, long long value, int bytes)
{
    memcpy(to, &value, (size_t)bytes);
}

static CUresult refuse_number(const char *kernel, const parameter_row *row, long long value, const char *problem,
                              long long bound)
{
    if (row->role == AN_INTEGER)
        return refuse(CUDA_ERROR_INVALID_VALUE, "kernel %s: %s is %lld, %s %lld", kernel, row->name, value, problem, bound);
    if (row->role == A_LENGTH)
        return refuse(CUDA_ERROR_INVALID_VALUE, "kernel %s: the length of axis %d of %s is %lld, %s %lld", kernel, row->axis,
                      row->name, value, problem, bound);
    return refuse(CUDA_ERROR_INVALID_VALUE, "kernel %s: the stride of axis %d of %s is %lld element%s, %s %lld", kernel,
                  row->axis, row->name, value, value == 1 || value == -1 ? "" : "s", problem, bound);
}

/* A stride along one element at most is never used: it becomes one that the kernel was built for. */
static long long harmless(const parameter_row *row)
{
    long long least = row->least > 0 ? row->least : 0;
    return row->fixed ? row->least : (least + row->factor - 1) / row->factor * row->factor;
}

static CUresult check_number(const char *kernel, const parameter_row *row, const unsigned char *from, long long *value)
{
    long long most = row->bytes < 8 ? (1ll << (8 * row->bytes - 1)) - 1 : 0x7fffffffffffffffll, length;
    const char *problem = NULL;
    long long bound = 0;
    if (row->fixed && *value != row->least)
        problem = "the kernel was built for", bound = row->least;
    else if (*value % row->factor)
        problem = "not a multiple of", bound = row->factor;
    else if (*value < row->least)
        problem = "less than", bound = row->least;
    else if (*value > row->most)
        problem = "more than", bound = row->most;
    else if (*value > most || *value < -most - 1)
        problem = "more than the kernel's parameter holds,", bound = most;
    if (!problem)
        return CUDA_SUCCESS;
    if (row->role == A_STRIDE) {
        memcpy(&length, from + row->source - (size_t)row->rank * sizeof length, sizeof length);
        if (length <= 1) {
            *value = harmless(row);
            return CUDA_SUCCESS;
        }
    }
    return refuse_number(kernel, row, *value, problem, bound);
}

/* One parameter goes from the caller's struct to the kernel's block. */
static CUresult bind_parameter(const char *kernel, const parameter_row *row, const unsigned char *from, unsigned char *block)
{
    long long value;
    CUdeviceptr address;
    CUresult status;
    if (row->role == A_NUMBER) {
        memcpy(block + row->place, from + row->source, (size_t)row->bytes);
        return CUDA_SUCCESS;
    }
    if (row->role == AN_ADDRESS) {
        memcpy(&address, from + row->source, sizeof address);
        if (address % (CUdeviceptr)row->factor)
            return refuse(CUDA_ERROR_INVALID_VALUE, "kernel %s: the address 0x%llx of %s is not a multiple of %lld bytes", kernel,
                          (unsigned long long)address, row->name, row->factor);
        memcpy(block + row->place, &address, sizeof address);
        return CUDA_SUCCESS;
    }
    value = read_integer(from + row->source, row->role == AN_INTEGER ? row->bytes : 8);
    status = check_number(kernel, row, from, &value);
    if (!status)
        write_integer(block + row->place, value, row->bytes);
    return status;
}

static CUresult check_grid(const char *kernel, @_grid grid)
{
    if (grid.x && grid.y && grid.z && grid.x <= 0x7fffffffu && grid.y <= 65535u && grid.z <= 65535u)
        return CUDA_SUCCESS;
    return refuse(CUDA_ERROR_INVALID_VALUE, "kernel %s cannot be launched on a grid of (%u, %u, %u)", kernel, grid.x, grid.y,
                  grid.z);
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

static CUresult launch(@_library *library, int kernel, @_grid grid, CUstream stream, const void *arguments)
{
    /* C99 cannot align a variable, and the driver refuses a descriptor that is not on 64 bytes. */
    unsigned char room[TENSOR_MAPS * sizeof(CUtensorMap) + 63];
    CUtensorMap *maps = (CUtensorMap *)(((uintptr_t)room + 63) & ~(uintptr_t)63);
    unsigned char block[BLOCK];
    void *params[PARAMETERS];
    const kernel_row *row = &kernels[kernel];
    CUdevice device = 0;
    int index = 0, number;
    CUresult status = CUDA_SUCCESS;
    sentence_status = CUDA_SUCCESS;
    if (!library || !arguments)
        return refuse(CUDA_ERROR_INVALID_VALUE, "kernel %s: there is no %s", row->name, library ? "argument" : "library");
    for (number = 0; !status && number < row->parameters; ++number) {
        const parameter_row *parameter = &parameters[row->first_parameter + number];
        status = bind_parameter(row->name, parameter, (const unsigned char *)arguments, block);
        params[number] = block + parameter->place;
    }
    if (!status)
        status = check_grid(row->name, grid);
    if (!status)
        status = find_image(kernel, &device, &index);
    if (!status)
        status = load(library, row, index, device);
    if (status)
        return status;
    for (number = 0; number < images[index].maps; ++number) {
        const tensor_map_row *map = &tensor_maps[images[index].first_map + number];
        status = encode(&maps[number], map, params);
        if (status)
            return failed(status, row->name, "cuTensorMapEncodeTiled");
        params[map->parameter] = &maps[number];
    }
    status = enqueue(library, index, grid, stream, params);
    return status ? failed(status, row->name, "cuLaunchKernelEx") : CUDA_SUCCESS;
}

@{functions}@
