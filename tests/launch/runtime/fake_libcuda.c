/*
 * A CUDA driver that runs nothing: it answers the few functions that launches need and writes down what it was given,
 * one line a call, to the file FAKE_CUDA_LOG. The GPU's compute capability is FAKE_CUDA_SM (90 for 9.0), the bytes of
 * the launched kernel's parameters FAKE_CUDA_PARAMS ("8,4,4"). Loading takes FAKE_CUDA_PAUSE microseconds
 * more; with FAKE_CUDA_BROKEN no kernel has code that can be loaded, which a driver says as late as it can. Handles: 0x51 context, 0x52 library, 0x53 kernel.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static FILE *begin(const char *function)
{
    FILE *log = fopen(getenv("FAKE_CUDA_LOG"), "a");
    fprintf(log, "%s", function);
    return log;
}

static CUresult end(FILE *log)
{
    fprintf(log, "\n");
    fclose(log);
    return CUDA_SUCCESS;
}

static void write_hex(FILE *log, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    fputc(' ', log);
    for (size_t index = 0; index < size; ++index)
        fprintf(log, "%02x", bytes[index]);
}

CUresult CUDAAPI cuInit(unsigned flags) { return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS; }

CUresult CUDAAPI cuDriverGetVersion(int *version)
{
    *version = 13050;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetCount(int *count)
{
    *count = 1;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    int number = atoi(getenv("FAKE_CUDA_SM"));
    (void)device;
    *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? number / 10 : number % 10;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext *context)
{
    *context = (CUcontext)0x51;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice *device)
{
    *device = 0;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuPointerGetAttribute(void *value, CUpointer_attribute attribute, CUdeviceptr pointer)
{
    (void)pointer;
    if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
        *(int *)value = 0;
    else if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
        *(CUmemorytype *)value = CU_MEMORYTYPE_DEVICE;
    else
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *options, void **values,
                                   unsigned count, CUlibraryOption *more, void **more_values, unsigned more_count)
{
    FILE *log = begin("cuLibraryLoadData");
    (void)options, (void)values, (void)more, (void)more_values;
    fprintf(log, " %u %u", count, more_count);
    write_hex(log, code, 512);
    if (getenv("FAKE_CUDA_PAUSE"))
        usleep((useconds_t)atoi(getenv("FAKE_CUDA_PAUSE")));
    *library = (CUlibrary)0x52;
    return end(log);
}

CUresult CUDAAPI cuLibraryUnload(CUlibrary library)
{
    FILE *log = begin("cuLibraryUnload");
    fprintf(log, " %p", (void *)library);
    return end(log);
}

CUresult CUDAAPI cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    FILE *log = begin("cuLibraryGetKernel");
    fprintf(log, " %p %s", (void *)library, name);
    *kernel = (CUkernel)0x53;
    return end(log);
}

CUresult CUDAAPI cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
    FILE *log = begin("cuKernelGetFunction");
    *function = (CUfunction)kernel;
    end(log);
    return getenv("FAKE_CUDA_BROKEN") ? CUDA_ERROR_INVALID_IMAGE : CUDA_SUCCESS;
}

CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device)
{
    FILE *log = begin("cuKernelSetAttribute");
    fprintf(log, " %d %d %p %d", attribute, value, (void *)kernel, device);
    return end(log);
}

CUresult CUDAAPI cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                        const cuuint64_t *shape, const cuuint64_t *strides, const cuuint32_t *box,
                                        const cuuint32_t *steps, CUtensorMapInterleave interleave,
                                        CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                        CUtensorMapFloatOOBfill fill)
{
    FILE *log = begin("cuTensorMapEncodeTiled");
    fprintf(log, " %d %p", type, address);
    for (cuuint32_t dim = 0; dim < rank; ++dim)
        fprintf(log, " %llu/%u/%u", (unsigned long long)shape[dim], box[dim], steps[dim]);
    for (cuuint32_t dim = 0; dim + 1 < rank; ++dim)
        fprintf(log, " %llu", (unsigned long long)strides[dim]);
    fprintf(log, " %d %d %d %d %s", interleave, swizzle, promotion, fill, (size_t)map % 64 ? "unaligned" : "aligned");
    memset(map, 0xab, sizeof *map);
    end(log);
    return (size_t)map % 64 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction kernel, void **params, void **extra)
{
    FILE *log = begin("cuLaunchKernelEx");
    char sizes[1024];
    int index = 0;
    fprintf(log, " %p %u,%u,%u %u,%u,%u %u %p", (void *)kernel, config->gridDimX, config->gridDimY, config->gridDimZ,
            config->blockDimX, config->blockDimY, config->blockDimZ, config->sharedMemBytes, (void *)config->hStream);
    for (unsigned given = 0; given < config->numAttrs; ++given)
        fprintf(log, " attribute:%d", config->attrs[given].id);
    fprintf(log, " %s", extra ? "extra" : "params");
    snprintf(sizes, sizeof sizes, "%s", getenv("FAKE_CUDA_PARAMS"));
    for (char *size = strtok(sizes, ","); size; size = strtok(NULL, ","))
        write_hex(log, params[index++], (size_t)atoi(size));
    return end(log);
}

CUresult CUDAAPI cuGetProcAddress(const char *name, void **function, int version, cuuint64_t flags,
                                  CUdriverProcAddressQueryResult *found)
{
    static const char *const endings[] = {"", "_v2", "_v3", "_v4"};
    void *own = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_NOW);
    (void)version, (void)flags;
    *function = NULL;
    for (size_t index = 0; !*function && index < sizeof endings / sizeof *endings; ++index) {
        char full[256];
        snprintf(full, sizeof full, "%s%s", name, endings[index]);
        *function = dlsym(own, full);
    }
    if (found)
        *found = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult CUDAAPI cuGetErrorName(CUresult error, const char **name)
{
    *name = error ? "CUDA_ERROR" : "CUDA_SUCCESS";
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGetErrorString(CUresult error, const char **text)
{
    *text = error ? "the driver's own words" : "no error";
    return CUDA_SUCCESS;
}
