/*
 * A CUDA driver that believes nothing: every argument of every call is checked as the CUDA Driver API reference and the
 * Programming Guide ask, what is wrong is refused with a reason on stderr, and launches run in the emulator.
 *
 * The GPU's compute capability is STRICT_DRIVER_SM (90 for 9.0). STRICT_DRIVER_FOLDER holds "memory", the GPU's memory as
 * a file that both sides map at MEMORY_BASE, and "socket", where the emulator listens (server.py); without "socket"
 * launches are checked and do nothing. A launch of the kernel STRICT_DRIVER_HANGS never ends. Every refusal is also a line of the file "refusals" there.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MEMORY_BASE 0x200000000000ull
#define PEER_BASE 0x300000000000ull /* of memory of other processes */
#define ALIGNMENT 256u /* of an allocation */
#define COMMON_SHARED 49152u
#define MAX_PARAMETERS 8192
#define MAX_ALLOCATIONS 4096
#define COUNT(table) (sizeof(table) / sizeof *(table))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, table_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t print_lock = PTHREAD_MUTEX_INITIALIZER;
static int initialized, retained, hung;
static int listened; /* whether an emulator was there at cuInit: what launches cost is measured without one */
static int captures; /* streams that are captured */
static _Thread_local CUstreamCaptureMode interaction; /* of this thread with captures: the global mode first */
static CUresult sticky; /* what a kernel has done to the context */
static _Thread_local struct handle *current;

/* ---- what is wrong -------------------------------------------------------------------------------------------- */
static const char *in_folder(const char *name, char *path, size_t size)
{
    const char *folder = getenv("STRICT_DRIVER_FOLDER");
    snprintf(path, size, "%s/%s", folder ? folder : "/nonexistent", name);
    return path;
}

__attribute__((format(printf, 3, 4))) static CUresult refuse(const char *function, CUresult status, const char *format, ...)
{
    char why[1024], path[4096];
    va_list rest;
    FILE *file;
    va_start(rest, format);
    vsnprintf(why, sizeof why, format, rest);
    va_end(rest);
    fprintf(stderr, "strict driver: %s: %s\n", function, why);
    file = fopen(in_folder("refusals", path, sizeof path), "a");
    if (file) {
        fprintf(file, "%s: %s\n", function, why);
        fclose(file);
    }
    return status;
}

#define REFUSE(status, ...) return refuse(__func__, status, __VA_ARGS__)
#define REQUIRE(condition, status, ...) \
    do { \
        if (!(condition)) \
            REFUSE(status, __VA_ARGS__); \
    } while (0)
#define INVALID CUDA_ERROR_INVALID_VALUE
#define NOT_NULL(pointer) REQUIRE(pointer, INVALID, "%s is NULL", #pointer)
#define INITIALIZED REQUIRE(initialized, CUDA_ERROR_NOT_INITIALIZED, "cuInit was not called")
#define IN_CONTEXT \
    INITIALIZED; \
    REQUIRE(current, CUDA_ERROR_INVALID_CONTEXT, "no context is current in this thread"); \
    if (sticky) \
        return sticky
/* Calls that have no place in a graph are refused while one is captured, unless the thread has relaxed its mode. */
#define NOT_CAPTURING \
    REQUIRE(!captures || interaction == CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, \
            "a stream is being captured")
#define DEVICE(device) REQUIRE((device) == 0, CUDA_ERROR_INVALID_DEVICE, "there is no device %d", (int)(device))

/* ---- the GPU: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability" -------------------- */
typedef struct {
    int number, shared_per_block, shared_per_multiprocessor, threads_per_multiprocessor, blocks_per_multiprocessor;
    int clusters, tensor_maps;
} gpu_row;

#define KB *1024
static const gpu_row gpus[] = {
    {80, 163 KB, 164 KB, 2048, 32, 0, 0},   {86, 99 KB, 100 KB, 1536, 16, 0, 0},   {87, 163 KB, 164 KB, 1536, 16, 0, 0},
    {88, 99 KB, 100 KB, 1536, 16, 0, 0},    {89, 99 KB, 100 KB, 1536, 24, 0, 0},   {90, 227 KB, 228 KB, 2048, 32, 1, 1},
    {100, 227 KB, 228 KB, 2048, 32, 1, 1},  {103, 227 KB, 228 KB, 2048, 32, 1, 1}, {110, 227 KB, 228 KB, 1536, 24, 1, 1},
    {120, 99 KB, 100 KB, 1536, 24, 1, 1},   {121, 99 KB, 100 KB, 1536, 24, 1, 1},
};

static const gpu_row *gpu(void)
{
    const char *text = getenv("STRICT_DRIVER_SM");
    int number = text ? atoi(text) : 90;
    for (size_t index = 0; index < COUNT(gpus); ++index)
        if (gpus[index].number == number)
            return &gpus[index];
    fprintf(stderr, "strict driver: STRICT_DRIVER_SM=%s is no GPU\n", text);
    abort();
}

static const unsigned max_grid[3] = {2147483647u, 65535u, 65535u}, max_block[3] = {1024u, 1024u, 64u};

/* ---- handles --------------------------------------------------------------------------------------------------- */
typedef enum { DEAD, CONTEXT, MODULE, LIBRARY, FUNCTION, KERNEL, STREAM, EVENT, GRAPH, GRAPH_EXEC } kind;
static const char *const kind_names[] = {"dead", "context", "module", "library", "function", "kernel", "stream", "event",
                                         "graph", "executable graph"};

typedef struct {
    char name[512];
    unsigned threads[3], most_threads, cluster[3], registers;
    int blocks_are_clusters, parameters, is_tile;
    size_t static_shared;
    unsigned sizes[MAX_PARAMETERS], offsets[MAX_PARAMETERS];
    long long allowed_shared; /* dynamic bytes that the attribute lets it take */
    int non_portable_cluster;
} entry_point;

typedef struct handle {
    kind kind;
    struct handle *owner;
    unsigned char *image; /* of a module or library: the cubin */
    size_t size;
    double when; /* of an event: seconds; negative until recorded */
    unsigned flags; /* of an event, as it was made */
    struct handle *graph; /* of a stream that is captured */
    void *nodes; /* of a graph: its launches (capture.c) */
    entry_point entry; /* of a function or kernel; the others end before it */
} handle;

/* By address, with as many empty places as handles. Dead ones stay: no later handle has the address of one. */
static handle **handles;
static size_t handle_count, handle_capacity;

static size_t place_of(const void *given)
{
    size_t place = (size_t)given / 16 * 0x9e3779b97f4a7c15ull % handle_capacity;
    while (handles[place] && handles[place] != given)
        place = (place + 1) % handle_capacity;
    return place;
}

static void grow_handles(void)
{
    handle **before = handles;
    size_t capacity = handle_capacity;
    if (2 * handle_count < handle_capacity)
        return;
    handle_capacity = capacity ? 2 * capacity : 1024;
    handles = calloc(handle_capacity, sizeof *handles);
    if (!handles)
        abort();
    for (size_t index = 0; index < capacity; ++index)
        if (before[index])
            handles[place_of(before[index])] = before[index];
    free(before);
}

static handle *make_handle(kind kind, handle *owner)
{
    handle *made = calloc(1, kind == FUNCTION || kind == KERNEL ? sizeof *made : offsetof(handle, entry));
    if (!made)
        abort();
    made->kind = kind;
    made->owner = owner;
    made->when = -1;
    pthread_mutex_lock(&table_lock);
    grow_handles();
    handles[place_of(made)] = made;
    ++handle_count;
    pthread_mutex_unlock(&table_lock);
    return made;
}

static handle *find_handle(const void *given, kind kind)
{
    handle *found = NULL;
    pthread_mutex_lock(&table_lock);
    if (given && handle_capacity)
        found = handles[place_of(given)];
    pthread_mutex_unlock(&table_lock);
    return found && found->kind == kind ? found : NULL;
}

#define HANDLE(name, given, wanted) \
    handle *name = find_handle((const void *)(given), wanted); \
    REQUIRE(name, CUDA_ERROR_INVALID_HANDLE, "%p is no live %s", (void *)(given), kind_names[wanted])
#define STREAM_HANDLE(given) \
    REQUIRE((size_t)(given) <= 2 || find_handle((const void *)(given), STREAM), CUDA_ERROR_INVALID_HANDLE, \
            "%p is no live stream", (void *)(given))

#define NOT_CAPTURED(stream) \
    do { \
        handle *stream_ = find_handle((const void *)(stream), STREAM); \
        REQUIRE(!stream_ || !stream_->graph, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the stream is being captured, and this driver captures launches only"); \
    } while (0)

static void kill_owned(handle *owner)
{
    pthread_mutex_lock(&table_lock);
    for (size_t index = 0; index < handle_capacity; ++index)
        if (handles[index] && handles[index]->owner == owner)
            handles[index]->kind = DEAD;
    owner->kind = DEAD;
    pthread_mutex_unlock(&table_lock);
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */
typedef struct {
    CUdeviceptr base;
    size_t size;
} allocation;

static allocation allocations[MAX_ALLOCATIONS];
static size_t allocation_count, memory_size, memory_used;

static int memory_file = -1; /* stays open: other processes reach it through /proc */

static int map_memory(void)
{
    char path[4096];
    struct stat found;
    int file = open(in_folder("memory", path, sizeof path), O_RDWR | O_CLOEXEC);
    void *at;
    if (file < 0 || fstat(file, &found))
        return 0;
    memory_file = file;
    at = mmap((void *)MEMORY_BASE, (size_t)found.st_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, file, 0);
    memory_size = (size_t)found.st_size;
    return at == (void *)MEMORY_BASE;
}

static const allocation *find_memory(CUdeviceptr address, size_t size)
{
    for (size_t index = 0; index < allocation_count; ++index) {
        const allocation *one = &allocations[index];
        if (address >= one->base && address - one->base <= one->size && size <= one->size - (address - one->base))
            return one;
    }
    return NULL;
}

#define MEMORY(address, bytes) \
    REQUIRE(find_memory(address, bytes), INVALID, "%zu bytes at %#llx are not within one allocation", (size_t)(bytes), \
            (unsigned long long)(address))

/* ---- images ---------------------------------------------------------------------------------------------------- */
typedef struct {
    const char *name;
    const unsigned char *data;
    unsigned type;
    size_t size, alignment;
} section;

static unsigned half(const unsigned char *at)
{
    return at[0] | (unsigned)at[1] << 8;
}

static unsigned word(const unsigned char *at)
{
    return half(at) | half(at + 2) << 16;
}

static unsigned long long wide(const unsigned char *at)
{
    return word(at) | (unsigned long long)word(at + 4) << 32;
}

static int section_count(const unsigned char *image)
{
    return (int)half(image + 60);
}

static section section_at(const unsigned char *image, int index)
{
    const unsigned char *table = image + wide(image + 40), *row = table + (unsigned)index * half(image + 58);
    const unsigned char *names = table + half(image + 62) * half(image + 58);
    section made = {(const char *)image + wide(names + 24) + word(row), image + wide(row + 24), word(row + 4),
                    wide(row + 32), wide(row + 48)};
    return made;
}

/* The bytes of an ELF file from its own tables. */
static size_t image_size(const unsigned char *image)
{
    size_t end = wide(image + 40) + (size_t)section_count(image) * half(image + 58);
    size_t segments = wide(image + 32) + (size_t)half(image + 54) * half(image + 56);
    for (int index = 0; index < section_count(image); ++index) {
        section one = section_at(image, index);
        size_t last = (size_t)(one.data - image) + (one.type == 8 ? 0 : one.size);
        end = last > end ? last : end;
    }
    return segments > end ? segments : end;
}

/* A section called PREFIX + NAME (PREFIX alone where NAME is NULL). */
static int find_section(const handle *module, const char *prefix, const char *name, section *found)
{
    char wanted[640];
    snprintf(wanted, sizeof wanted, "%s%s", prefix, name ? name : "");
    for (int index = 0; index < section_count(module->image); ++index) {
        *found = section_at(module->image, index);
        if (!strcmp(found->name, wanted))
            return 1;
    }
    return 0;
}

/* Records of .nv.info, as cuobjdump -elf names them. */
enum {
    MAX_THREADS = 0x05, REQNTID = 0x10, KPARAM_INFO = 0x17, REGCOUNT = 0x2f, CTA_PER_CLUSTER = 0x3d, KPARAM_INFO_V2 = 0x45,
    BLOCKS_ARE_CLUSTERS = 0x5b
};
enum { WITH_DATA = 4 };

static void read_record(entry_point *entry, unsigned attribute, const unsigned char *data)
{
    unsigned ordinal, axis;
    if (attribute == BLOCKS_ARE_CLUSTERS)
        entry->blocks_are_clusters = 1;
    for (axis = 0; axis < 3 && attribute == REQNTID; ++axis)
        entry->threads[axis] = word(data + 4 * axis);
    for (axis = 0; axis < 3 && attribute == CTA_PER_CLUSTER; ++axis)
        entry->cluster[axis] = word(data + 4 * axis);
    if (attribute == MAX_THREADS)
        entry->most_threads = word(data) * word(data + 4) * word(data + 8);
    if ((attribute == KPARAM_INFO || attribute == KPARAM_INFO_V2) && (ordinal = half(data + 4)) < MAX_PARAMETERS) {
        entry->offsets[ordinal] = half(data + 6);
        entry->sizes[ordinal] = attribute == KPARAM_INFO ? word(data + 8) >> 18 : half(data + 8);
        entry->parameters = (int)ordinal + 1 > entry->parameters ? (int)ordinal + 1 : entry->parameters;
    }
}

static void read_info(entry_point *entry, section info)
{
    const unsigned char *at = info.data, *end = info.data + info.size;
    while (at + 4 <= end) {
        read_record(entry, at[1], at + 4);
        at += 4 + (at[0] == WITH_DATA ? half(at + 2) : 0);
    }
}

/* The registers of a thread: .nv.info names the function by its number in .symtab. */
static unsigned registers_of(const handle *module, const char *name)
{
    section info, symbols, names;
    if (!find_section(module, ".nv.info", NULL, &info) || !find_section(module, ".symtab", NULL, &symbols) ||
        !find_section(module, ".strtab", NULL, &names))
        return 0;
    for (const unsigned char *at = info.data; at + 4 <= info.data + info.size; at += 4 + (at[0] == WITH_DATA ? half(at + 2) : 0))
        if (at[1] == REGCOUNT && !strcmp((const char *)names.data + word(symbols.data + 24 * word(at + 4)), name))
            return word(at + 8);
    return 0;
}

/* Images of tileiras say how their kernels are launched in a variable of this name; callers give blocks of one thread
 * (CUDA Programming Guide, "Writing Tile Kernels"). */
static int has_tile_kernels(const handle *module)
{
    static const char wanted[] = "___NV_TILE_LAUNCH_META_DATA___";
    section symbols, names;
    if (!find_section(module, ".symtab", NULL, &symbols) || !find_section(module, ".strtab", NULL, &names))
        return 0;
    for (const unsigned char *at = symbols.data; at < symbols.data + symbols.size; at += 24)
        if (!strcmp((const char *)names.data + word(at), wanted))
            return 1;
    return 0;
}

static int read_entry(const handle *module, const char *name, entry_point *entry)
{
    section found;
    size_t reserved = gpu()->number >= 90 ? 1024 : 0; /* what the system keeps of a CTA's shared memory */
    memset(entry, 0, sizeof *entry);
    if (!find_section(module, ".text.", name, &found))
        return 0;
    snprintf(entry->name, sizeof entry->name, "%s", name);
    entry->cluster[0] = entry->cluster[1] = entry->cluster[2] = 1;
    entry->registers = registers_of(module, name);
    entry->is_tile = has_tile_kernels(module);
    if (find_section(module, ".nv.shared.", name, &found))
        entry->static_shared = found.size > reserved ? found.size - reserved : 0;
    if (find_section(module, ".nv.info.", name, &found))
        read_info(entry, found);
    entry->allowed_shared = entry->static_shared < COMMON_SHARED ? COMMON_SHARED - (long long)entry->static_shared : 0;
    return 1;
}

/* ---- the emulator ---------------------------------------------------------------------------------------------- */
static int send_all(int to, const void *data, size_t size)
{
    for (const char *at = data; size;) {
        ssize_t sent = write(to, at, size);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return 0;
        at += sent;
        size -= (size_t)sent;
    }
    return 1;
}

static int receive_all(int from, void *data, size_t size)
{
    for (char *at = data; size;) {
        ssize_t got = read(from, at, size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return 0;
        at += got;
        size -= (size_t)got;
    }
    return 1;
}

/* The emulator's answer to one request, NUL-terminated and to be freed; NULL where none listens. */
static char *ask(const void *head, size_t head_size, const void *body, size_t body_size, size_t *answer_size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    unsigned long long sizes[2] = {head_size, body_size}, size = 0;
    char *answer = NULL;
    int link = socket(AF_UNIX, SOCK_STREAM, 0);
    in_folder("socket", address.sun_path, sizeof address.sun_path);
    if (!connect(link, (struct sockaddr *)&address, sizeof address) && send_all(link, sizes, sizeof sizes) &&
        send_all(link, head, head_size) && send_all(link, body, body_size) && receive_all(link, &size, sizeof size)) {
        answer = calloc(1, size + 1);
        if (!receive_all(link, answer, size))
            answer[0] = 0;
    }
    close(link);
    *answer_size = size;
    return answer;
}

/* What kernels have printed reaches the program's output where the Programming Guide ("Formatted Output") says so: before a
 * launch, where somebody waits for the GPU, and where an image is loaded. */
static char *printed;
static size_t printed_size;

static void keep_prints(const char *text, size_t size)
{
    printed = realloc(printed, printed_size + size);
    memcpy(printed + printed_size, text, size);
    printed_size += size;
}

static void show_prints(void)
{
    pthread_mutex_lock(&print_lock);
    if (printed_size) {
        fwrite(printed, 1, printed_size, stdout);
        fflush(stdout);
    }
    printed_size = 0;
    pthread_mutex_unlock(&print_lock);
}

/* Wait for all launches: forever, where one never ends. */
static void finish(void)
{
    show_prints();
    while (hung)
        sleep(1);
}

/* ---- initialization, devices, contexts ------------------------------------------------------------------------- */
CUresult CUDAAPI cuInit(unsigned flags)
{
    char path[4096];
    REQUIRE(!flags, INVALID, "flags are %u, not 0", flags);
    pthread_mutex_lock(&lock);
    if (!initialized && map_memory()) {
        initialized = 1;
        listened = !access(in_folder("socket", path, sizeof path), F_OK);
    }
    pthread_mutex_unlock(&lock);
    REQUIRE(initialized, CUDA_ERROR_NO_DEVICE, "STRICT_DRIVER_FOLDER holds no memory");
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDriverGetVersion(int *version)
{
    NOT_NULL(version);
    *version = CUDA_VERSION;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetCount(int *count)
{
    INITIALIZED;
    NOT_NULL(count);
    *count = 1;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
    INITIALIZED;
    NOT_NULL(device);
    DEVICE(ordinal);
    *device = 0;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetName(char *name, int length, CUdevice device)
{
    INITIALIZED;
    NOT_NULL(name);
    DEVICE(device);
    REQUIRE(length > 0, INVALID, "the buffer of the name holds %d bytes", length);
    snprintf(name, (size_t)length, "strict sm_%d", gpu()->number);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetPCIBusId(char *bus, int length, CUdevice device)
{
    INITIALIZED;
    NOT_NULL(bus);
    DEVICE(device);
    REQUIRE(length > 12, INVALID, "the buffer of the bus address holds %d bytes", length);
    snprintf(bus, (size_t)length, "0000:01:00.0");
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
    INITIALIZED;
    NOT_NULL(bytes);
    DEVICE(device);
    *bytes = memory_size;
    return CUDA_SUCCESS;
}

static int attribute_value(CUdevice_attribute attribute, int *value)
{
    const gpu_row *row = gpu();
    const struct {
        CUdevice_attribute attribute;
        int value;
    } rows[] = {
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, row->number / 10},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, row->number % 10},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 3},
        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, (int)COMMON_SHARED},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, row->shared_per_block},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, row->shared_per_multiprocessor},
        {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, row->threads_per_multiprocessor},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, row->blocks_per_multiprocessor},
        {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, row->clusters},
        {CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, row->tensor_maps},
        {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
        {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1000000},
        {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 1000000},
        {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 64},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 1 << 20},
        {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0},
    };
    for (size_t index = 0; index < COUNT(rows); ++index)
        if (rows[index].attribute == attribute) {
            *value = rows[index].value;
            return 1;
        }
    return 0;
}

CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    INITIALIZED;
    NOT_NULL(value);
    DEVICE(device);
    REQUIRE(attribute_value(attribute, value), INVALID, "attribute %d is none that a launch should ask for", (int)attribute);
    return CUDA_SUCCESS;
}

static handle *primary_context(void)
{
    static handle *primary;
    if (!primary)
        primary = make_handle(CONTEXT, NULL);
    return primary;
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    INITIALIZED;
    NOT_NULL(context);
    DEVICE(device);
    ++retained;
    *context = (CUcontext)primary_context();
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice device)
{
    INITIALIZED;
    DEVICE(device);
    REQUIRE(retained, CUDA_ERROR_INVALID_CONTEXT, "the primary context was not retained");
    --retained;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext *context)
{
    INITIALIZED;
    NOT_NULL(context);
    *context = (CUcontext)current;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext context)
{
    INITIALIZED;
    if (context) {
        HANDLE(found, context, CONTEXT);
        REQUIRE(retained, CUDA_ERROR_INVALID_CONTEXT, "the primary context is not retained");
        current = found;
    } else
        current = NULL;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice *device)
{
    IN_CONTEXT;
    NOT_NULL(device);
    *device = 0;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSynchronize(void)
{
    IN_CONTEXT;
    NOT_CAPTURING;
    finish();
    return CUDA_SUCCESS;
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */
CUresult CUDAAPI cuMemAlloc(CUdeviceptr *address, size_t size)
{
    int fits;
    IN_CONTEXT;
    NOT_CAPTURING;
    NOT_NULL(address);
    REQUIRE(size, INVALID, "0 bytes are asked for");
    /* Two allocations never touch: what is written past one is in none. */
    pthread_mutex_lock(&table_lock);
    fits = memory_used + size + ALIGNMENT <= memory_size && allocation_count < MAX_ALLOCATIONS;
    if (fits) {
        *address = MEMORY_BASE + memory_used;
        allocations[allocation_count++] = (allocation){*address, size};
        memory_used += (size + 2 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    pthread_mutex_unlock(&table_lock);
    return fits ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult CUDAAPI cuMemFree(CUdeviceptr address)
{
    int found = 0;
    IN_CONTEXT;
    NOT_CAPTURING;
    pthread_mutex_lock(&table_lock);
    for (size_t index = 0; !found && index < allocation_count; ++index)
        if (allocations[index].base == address) {
            allocations[index] = allocations[--allocation_count];
            found = 1;
        }
    pthread_mutex_unlock(&table_lock);
    REQUIRE(found, INVALID, "%#llx is the start of no allocation", (unsigned long long)address);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemGetInfo(size_t *left, size_t *total)
{
    IN_CONTEXT;
    NOT_NULL(left);
    NOT_NULL(total);
    *left = memory_size - memory_used;
    *total = memory_size;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t size)
{
    IN_CONTEXT;
    NOT_CAPTURING;
    NOT_NULL(from);
    MEMORY(to, size);
    memcpy((void *)to, from, size);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemcpyDtoH(void *to, CUdeviceptr from, size_t size)
{
    IN_CONTEXT;
    NOT_CAPTURING;
    NOT_NULL(to);
    MEMORY(from, size);
    finish();
    memcpy(to, (const void *)from, size);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream)
{
    IN_CONTEXT;
    MEMORY(to, size);
    MEMORY(from, size);
    STREAM_HANDLE(stream);
    memmove((void *)to, (const void *)from, size);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream)
{
    IN_CONTEXT;
    MEMORY(to, count);
    STREAM_HANDLE(stream);
    memset((void *)to, value, count);
    return CUDA_SUCCESS;
}

static int pointer_attribute(void *value, CUpointer_attribute attribute, CUdeviceptr address)
{
    const allocation *found = find_memory(address, 0);
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *(CUcontext *)value = (CUcontext)(found ? primary_context() : NULL);
        return 1;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)value = found ? CU_MEMORYTYPE_DEVICE : 0;
        return 1;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(CUdeviceptr *)value = found ? address : 0;
        return 1;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)value = found ? 0 : -2;
        return 1;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *(unsigned *)value = 0;
        return 1;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *(CUdeviceptr *)value = found ? found->base : 0;
        return 1;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *(size_t *)value = found ? found->size : 0;
        return 1;
    default:
        return 0;
    }
}

CUresult CUDAAPI cuPointerGetAttribute(void *value, CUpointer_attribute attribute, CUdeviceptr address)
{
    IN_CONTEXT;
    NOT_NULL(value);
    REQUIRE(find_memory(address, 0), INVALID, "%#llx is in no allocation", (unsigned long long)address);
    REQUIRE(pointer_attribute(value, attribute, address), INVALID, "%d is no attribute of pointers", (int)attribute);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes, void **values, CUdeviceptr address)
{
    IN_CONTEXT;
    NOT_NULL(attributes);
    NOT_NULL(values);
    for (unsigned index = 0; index < count; ++index)
        REQUIRE(pointer_attribute(values[index], attributes[index], address), INVALID, "%d is no attribute of pointers",
                (int)attributes[index]);
    return CUDA_SUCCESS;
}

/* ---- streams and events ---------------------------------------------------------------------------------------- */
CUresult CUDAAPI cuStreamCreate(CUstream *stream, unsigned flags)
{
    IN_CONTEXT;
    NOT_NULL(stream);
    REQUIRE(flags <= CU_STREAM_NON_BLOCKING, INVALID, "flags are %#x", flags);
    *stream = (CUstream)make_handle(STREAM, NULL);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamDestroy(CUstream stream)
{
    IN_CONTEXT;
    HANDLE(found, stream, STREAM);
    found->kind = DEAD;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamSynchronize(CUstream stream)
{
    IN_CONTEXT;
    STREAM_HANDLE(stream);
    NOT_CAPTURED(stream);
    finish();
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamQuery(CUstream stream)
{
    IN_CONTEXT;
    STREAM_HANDLE(stream);
    NOT_CAPTURED(stream);
    return hung ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    IN_CONTEXT;
    STREAM_HANDLE(stream);
    HANDLE(found, event, EVENT);
    (void)found;
    REQUIRE(flags <= 1, INVALID, "flags are %#x", flags);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventCreate(CUevent *event, unsigned flags)
{
    IN_CONTEXT;
    NOT_NULL(event);
    REQUIRE(flags < 8, INVALID, "flags are %#x", flags);
    REQUIRE(!(flags & CU_EVENT_INTERPROCESS) || flags & CU_EVENT_DISABLE_TIMING, INVALID, "an event of several processes has no time");
    *event = (CUevent)make_handle(EVENT, NULL);
    ((handle *)*event)->flags = flags;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventDestroy(CUevent event)
{
    IN_CONTEXT;
    HANDLE(found, event, EVENT);
    found->kind = DEAD;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventRecord(CUevent event, CUstream stream)
{
    struct timespec now;
    IN_CONTEXT;
    HANDLE(found, event, EVENT);
    STREAM_HANDLE(stream);
    clock_gettime(CLOCK_MONOTONIC, &now);
    found->when = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventSynchronize(CUevent event)
{
    IN_CONTEXT;
    HANDLE(found, event, EVENT);
    (void)found;
    finish();
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
    IN_CONTEXT;
    NOT_NULL(milliseconds);
    HANDLE(from, start, EVENT);
    HANDLE(to, end, EVENT);
    REQUIRE(!((from->flags | to->flags) & CU_EVENT_DISABLE_TIMING), CUDA_ERROR_INVALID_HANDLE, "an event was made without time");
    REQUIRE(from->when >= 0 && to->when >= 0, CUDA_ERROR_INVALID_HANDLE, "an event was not recorded");
    *milliseconds = (float)(1e3 * (to->when - from->when));
    return CUDA_SUCCESS;
}

/* ---- loading --------------------------------------------------------------------------------------------------- */
static CUresult load_elf(const char *function, handle *made, const unsigned char *image)
{
    unsigned flags = word(image + 48), number = (image[8] >= 8 ? flags >> 8 : flags) & 0xff;
    unsigned own = (unsigned)gpu()->number;
    if (half(image + 18) != 190)
        return refuse(function, CUDA_ERROR_INVALID_IMAGE, "this ELF file is for machine %u, no cubin", half(image + 18));
    if (number / 10 != own / 10 || number > own)
        return refuse(function, CUDA_ERROR_NO_BINARY_FOR_GPU, "the cubin is for sm_%u, this GPU is sm_%u", number, own);
    made->size = image_size(image);
    made->image = malloc(made->size);
    memcpy(made->image, image, made->size);
    return CUDA_SUCCESS;
}

/* The driver compiles PTX for its GPU: the emulator's side has ptxas. */
static CUresult load_ptx(const char *function, handle *made, const unsigned char *text, size_t size)
{
    char head[64];
    size_t got;
    char *cubin = NULL;
    snprintf(head, sizeof head, "compile %d", gpu()->number);
    cubin = ask(head, strlen(head), text, size, &got);
    if (!cubin || got < 64 || memcmp(cubin, "\177ELF", 4))
        return refuse(function, CUDA_ERROR_INVALID_PTX, "ptxas: %s", cubin ? cubin : "nobody compiles PTX here");
    return load_elf(function, made, (unsigned char *)cubin);
}

/* A fat binary: rows of images, each behind a header of its own; a cubin for this GPU, else PTX. */
static CUresult load_fat(const char *function, handle *made, const unsigned char *fat)
{
    enum { PTX = 1, ELF = 2 };
    const unsigned char *end = fat + half(fat + 6) + wide(fat + 8), *ptx = NULL;
    for (const unsigned char *row = fat + half(fat + 6); row < end; row += word(row + 4) + wide(row + 8)) {
        if (half(row) == ELF && word(row + 28) == (unsigned)gpu()->number)
            return load_elf(function, made, row + word(row + 4));
        if (half(row) == PTX && word(row + 28) <= (unsigned)gpu()->number)
            ptx = row;
    }
    if (!ptx)
        return refuse(function, CUDA_ERROR_NO_BINARY_FOR_GPU, "the fat binary has nothing for sm_%d", gpu()->number);
    return load_ptx(function, made, ptx + word(ptx + 4), wide(ptx + 8));
}

static CUresult load(const char *function, handle **made, kind kind, const void *image)
{
    handle loaded = {.kind = kind};
    CUresult status;
    show_prints();
    if (!image)
        return refuse(function, INVALID, "the image is NULL");
    if ((size_t)image % 8)
        return refuse(function, INVALID, "the image at %p is not on 8 bytes", image);
    if (!memcmp(image, "\177ELF\2\1", 6))
        status = load_elf(function, &loaded, image);
    else if (word(image) == 0xba55ed50u)
        status = load_fat(function, &loaded, image);
    else if (!memcmp(image, ".version", 8) || !memcmp(image, "//", 2))
        status = load_ptx(function, &loaded, image, strlen(image) + 1);
    else
        return refuse(function, CUDA_ERROR_INVALID_IMAGE, "the image is no cubin, no fat binary and no PTX");
    if (!status) {
        *made = make_handle(kind, NULL);
        (*made)->image = loaded.image;
        (*made)->size = loaded.size;
    }
    return status;
}

CUresult CUDAAPI cuModuleLoadData(CUmodule *module, const void *image)
{
    handle *made = NULL;
    CUresult status;
    IN_CONTEXT;
    NOT_CAPTURING;
    NOT_NULL(module);
    status = load(__func__, &made, MODULE, image);
    *module = (CUmodule)made;
    return status;
}

CUresult CUDAAPI cuModuleUnload(CUmodule module)
{
    IN_CONTEXT;
    HANDLE(found, module, MODULE);
    kill_owned(found);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *options, void **values,
                                   unsigned count, CUlibraryOption *more, void **more_values, unsigned more_count)
{
    handle *made = NULL;
    CUresult status;
    INITIALIZED;
    NOT_CAPTURING;
    NOT_NULL(library);
    REQUIRE(!count || (options && values), INVALID, "%u options of the compiler are NULL", count);
    REQUIRE(!more_count || (more && more_values), INVALID, "%u options of the library are NULL", more_count);
    status = load(__func__, &made, LIBRARY, code);
    *library = (CUlibrary)made;
    return status;
}

CUresult CUDAAPI cuLibraryUnload(CUlibrary library)
{
    INITIALIZED;
    HANDLE(found, library, LIBRARY);
    kill_owned(found);
    return CUDA_SUCCESS;
}

static CUresult get_entry(const char *function, handle *module, const char *name, kind kind, handle **made)
{
    entry_point entry;
    if (!name)
        return refuse(function, INVALID, "the name is NULL");
    if (!read_entry(module, name, &entry))
        return refuse(function, CUDA_ERROR_NOT_FOUND, "the image has no kernel %s", name);
    *made = make_handle(kind, module);
    (*made)->entry = entry;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    handle *made = NULL;
    CUresult status;
    IN_CONTEXT;
    NOT_NULL(function);
    HANDLE(found, module, MODULE);
    status = get_entry(__func__, found, name, FUNCTION, &made);
    *function = (CUfunction)made;
    return status;
}

CUresult CUDAAPI cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    handle *made = NULL;
    CUresult status;
    INITIALIZED;
    NOT_NULL(kernel);
    HANDLE(found, library, LIBRARY);
    status = get_entry(__func__, found, name, KERNEL, &made);
    *kernel = (CUkernel)made;
    return status;
}

static CUresult set_attribute(const char *function, entry_point *entry, CUfunction_attribute attribute, int value)
{
    int most = gpu()->shared_per_block - (int)entry->static_shared;
    if (attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) {
        entry->non_portable_cluster = value;
        return CUDA_SUCCESS;
    }
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        return refuse(function, INVALID, "attribute %d cannot be set", (int)attribute);
    if (value < 0 || value > most)
        return refuse(function, INVALID, "kernel %s asks for %d bytes of dynamic shared memory; beside its %zu static bytes there are %d",
                      entry->name, value, entry->static_shared, most);
    entry->allowed_shared = value;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    IN_CONTEXT;
    HANDLE(found, function, FUNCTION);
    return set_attribute(__func__, &found->entry, attribute, value);
}

CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device)
{
    INITIALIZED;
    DEVICE(device);
    HANDLE(found, kernel, KERNEL);
    return set_attribute(__func__, &found->entry, attribute, value);
}

/* ---- tensor maps: CUDA Driver API reference, "Tensor Map Object Management" ------------------------------------- */
enum { TENSOR_MAP = 0x504d5453 };

/* The 128 bytes are what the emulator's side reads (server.py); the real ones are opaque. */
static unsigned element_bytes(CUtensorMapDataType type)
{
    static const unsigned char bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
    return (unsigned)type < COUNT(bytes) ? bytes[type] : 0;
}

static CUresult check_extents(const char *function, cuuint32_t rank, const cuuint64_t *shape, const cuuint64_t *strides,
                              const cuuint32_t *box, const cuuint32_t *steps, unsigned unit)
{
    for (cuuint32_t dim = 0; dim < rank; ++dim) {
        if (!shape[dim] || shape[dim] > 1ull << 32)
            return refuse(function, INVALID, "dimension %u has %llu elements", dim, (unsigned long long)shape[dim]);
        if (!box[dim] || box[dim] > 256)
            return refuse(function, INVALID, "the box has %u elements along dimension %u", box[dim], dim);
        if (!steps[dim] || steps[dim] > 8)
            return refuse(function, INVALID, "the step along dimension %u is %u", dim, steps[dim]);
        if (dim && (strides[dim - 1] % unit || strides[dim - 1] >= 1ull << 40))
            return refuse(function, INVALID, "the stride of dimension %u is %llu bytes", dim, (unsigned long long)strides[dim - 1]);
        if (dim && shape[dim] > 1 && !strides[dim - 1])
            return refuse(function, INVALID, "the stride of dimension %u is 0 for %llu elements", dim, (unsigned long long)shape[dim]);
    }
    return CUDA_SUCCESS;
}

static CUresult check_inner(const char *function, unsigned inner, int interleave, int swizzle)
{
    static const unsigned spans[] = {0, 32, 64, 128, 128, 128, 128};
    if (interleave == CU_TENSOR_MAP_INTERLEAVE_32B && swizzle != CU_TENSOR_MAP_SWIZZLE_32B)
        return refuse(function, INVALID, "an interleave of 32 bytes needs the swizzle of 32");
    if (interleave)
        return CUDA_SUCCESS;
    if (inner % 16)
        return refuse(function, INVALID, "the box has %u bytes along dimension 0, no multiple of 16", inner);
    if (swizzle && inner > spans[swizzle])
        return refuse(function, INVALID, "the box has %u bytes along dimension 0, the swizzle %u", inner, spans[swizzle]);
    return CUDA_SUCCESS;
}

/* The last byte of the tensor, as the strides place it. */
static size_t tensor_bytes(cuuint32_t rank, const cuuint64_t *shape, const cuuint64_t *strides, unsigned bytes)
{
    size_t last = shape[0] * bytes;
    for (cuuint32_t dim = 1; dim < rank; ++dim)
        last += (shape[dim] - 1) * strides[dim - 1];
    return last;
}

CUresult CUDAAPI cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                        const cuuint64_t *shape, const cuuint64_t *strides, const cuuint32_t *box,
                                        const cuuint32_t *steps, CUtensorMapInterleave interleave,
                                        CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                        CUtensorMapFloatOOBfill fill)
{
    unsigned unit = interleave == CU_TENSOR_MAP_INTERLEAVE_32B ? 32 : 16, bytes = element_bytes(type);
    unsigned char *out = (unsigned char *)map;
    unsigned head[8] = {TENSOR_MAP, rank, (unsigned)type, (unsigned)interleave, (unsigned)swizzle, (unsigned)promotion, (unsigned)fill, 0};
    unsigned long long where = (size_t)address;
    CUresult status;
    INITIALIZED;
    NOT_NULL(map);
    REQUIRE((size_t)map % 64 == 0, INVALID, "the descriptor at %p is not on 64 bytes", (void *)map);
    REQUIRE(gpu()->tensor_maps, CUDA_ERROR_NOT_SUPPORTED, "sm_%d has no tensor maps", gpu()->number);
    REQUIRE(bytes, INVALID, "%d is no data type", (int)type);
    REQUIRE((unsigned)interleave <= 2, INVALID, "%d is no interleave", (int)interleave);
    REQUIRE(rank >= (interleave ? 3u : 1u) && rank <= 5, INVALID, "the rank is %u", rank);
    REQUIRE(address && where % unit == 0, INVALID, "the tensor at %p is not on %u bytes", address, unit);
    REQUIRE(shape && box && steps && (rank == 1 || strides), INVALID, "an array is NULL");
    REQUIRE((unsigned)swizzle <= 6, INVALID, "%d is no swizzle", (int)swizzle);
    REQUIRE((unsigned)promotion <= 3, INVALID, "%d is no promotion", (int)promotion);
    REQUIRE((unsigned)fill <= 1, INVALID, "%d is no fill", (int)fill);
    REQUIRE(!fill || (type >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16 && type <= CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ), INVALID,
            "data type %d has no NaN to fill with", (int)type);
    status = check_extents(__func__, rank, shape, strides, box, steps, unit);
    if (!status)
        status = check_inner(__func__, box[0] * bytes, (int)interleave, (int)swizzle);
    if (status)
        return status;
    MEMORY(where, tensor_bytes(rank, shape, strides, bytes));
    memset(out, 0, 128);
    memcpy(out, head, 32); /* 32: address; 40: lengths - 1; 60: boxes; 70: steps; 80: strides */
    memcpy(out + 32, &where, 8);
    for (cuuint32_t dim = 0; dim < rank; ++dim) {
        cuuint32_t length = (cuuint32_t)(shape[dim] - 1);
        unsigned short size = (unsigned short)box[dim], step = (unsigned short)steps[dim];
        memcpy(out + 40 + 4 * dim, &length, 4);
        memcpy(out + 60 + 2 * dim, &size, 2);
        memcpy(out + 70 + 2 * dim, &step, 2);
        if (dim)
            memcpy(out + 80 + 8 * (dim - 1), &strides[dim - 1], 8);
    }
    return CUDA_SUCCESS;
}

/* ---- launches -------------------------------------------------------------------------------------------------- */
static CUresult check_shape(const char *function, const entry_point *entry, const unsigned *grid, const unsigned *block)
{
    unsigned cluster = entry->cluster[0] * entry->cluster[1] * entry->cluster[2];
    unsigned long long threads = (unsigned long long)block[0] * block[1] * block[2];
    for (int axis = 0; axis < 3; ++axis) {
        unsigned long long count = (unsigned long long)grid[axis] * (entry->blocks_are_clusters ? entry->cluster[axis] : 1);
        if (!count || count > max_grid[axis])
            return refuse(function, INVALID, "kernel %s: %llu blocks along axis %d", entry->name, count, axis);
        if (count % entry->cluster[axis])
            return refuse(function, INVALID, "kernel %s: %llu blocks along axis %d are no whole clusters of %u", entry->name, count,
                          axis, entry->cluster[axis]);
        if (!block[axis] || block[axis] > max_block[axis])
            return refuse(function, INVALID, "kernel %s: %u threads along axis %d", entry->name, block[axis], axis);
        if (entry->is_tile && block[axis] != 1)
            return refuse(function, INVALID, "tile kernel %s: %u threads along axis %d", entry->name, block[axis], axis);
        if (!entry->is_tile && entry->threads[0] && block[axis] != entry->threads[axis])
            return refuse(function, INVALID, "kernel %s: %u threads along axis %d, it was compiled for %u", entry->name, block[axis],
                          axis, entry->threads[axis]);
    }
    if (threads > 1024 || (entry->most_threads && threads > entry->most_threads))
        return refuse(function, INVALID, "kernel %s: %llu threads in a block", entry->name, threads);
    /* The hardware wants what a warp takes, in units of 256, of as many warps of each of its four partitions (cuda_occupancy.h). */
    if ((entry->registers * 32 + 255) / 256 * 256 * ((threads + 127) / 128 * 4) > 65536)
        return refuse(function, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "kernel %s: %llu threads of %u registers", entry->name, threads,
                      entry->registers);
    if (cluster > (entry->non_portable_cluster ? 16u : 8u))
        return refuse(function, CUDA_ERROR_INVALID_CLUSTER_SIZE, "kernel %s: a cluster of %u blocks", entry->name, cluster);
    return CUDA_SUCCESS;
}

static CUresult check_shared(const char *function, const entry_point *entry, unsigned dynamic)
{
    if (entry->static_shared > COMMON_SHARED)
        return refuse(function, INVALID, "kernel %s has %zu bytes of static shared memory, more than %u", entry->name,
                      entry->static_shared, COMMON_SHARED);
    if (dynamic > entry->allowed_shared)
        return refuse(function, INVALID, "kernel %s: %u bytes of dynamic shared memory, %lld were allowed", entry->name, dynamic,
                      entry->allowed_shared);
    return CUDA_SUCCESS;
}

/* How often a launch has asked to begin before the one ahead of it is over; read by tests. */
unsigned strict_driver_programmatic;

static void note_programmatic(void)
{
    ++strict_driver_programmatic;
}

static CUresult check_attributes(const char *function, const entry_point *entry, const CUlaunchConfig *config)
{
    if (config->numAttrs && !config->attrs)
        return refuse(function, INVALID, "%u attributes are NULL", config->numAttrs);
    for (unsigned index = 0; index < config->numAttrs; ++index) {
        const CUlaunchAttribute *one = &config->attrs[index];
        const unsigned *given = &one->value.clusterDim.x;
        if (one->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) {
            if (gpu()->number < 90)
                return refuse(function, CUDA_ERROR_NOT_SUPPORTED, "kernel %s: sm_%d has no programmatic dependent launch",
                              entry->name, gpu()->number);
            if ((unsigned)one->value.programmaticStreamSerializationAllowed > 1)
                return refuse(function, INVALID, "kernel %s: programmatic serialization is %d", entry->name,
                              one->value.programmaticStreamSerializationAllowed);
            note_programmatic();
            continue;
        }
        if (one->id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            return refuse(function, INVALID, "kernel %s: launch attribute %d is not known here", entry->name, (int)one->id);
        if (memcmp(given, entry->cluster, sizeof entry->cluster))
            return refuse(function, CUDA_ERROR_INVALID_CLUSTER_SIZE, "kernel %s: clusters of %u x %u x %u, it was compiled for others",
                          entry->name, given[0], given[1], given[2]);
    }
    return CUDA_SUCCESS;
}

static CUresult check_parameters(const char *function, const entry_point *entry, void **params, void **extra)
{
    if (extra)
        return refuse(function, INVALID, "kernel %s: parameters are to come as kernelParams", entry->name);
    if (entry->parameters && !params)
        return refuse(function, INVALID, "kernel %s takes %d parameters and gets none", entry->name, entry->parameters);
    for (int index = 0; index < entry->parameters; ++index) {
        if (!params[index])
            return refuse(function, INVALID, "kernel %s: parameter %d of %u bytes is NULL", entry->name, index, entry->sizes[index]);
        if (entry->sizes[index] == 128 && *(const unsigned *)params[index] != TENSOR_MAP)
            return refuse(function, INVALID, "kernel %s: parameter %d is to be a tensor map and is none", entry->name, index);
    }
    return CUDA_SUCCESS;
}

/* "done" and what was printed, "assert" and the message of a failed assertion, or what was wrong with the launch. */
static void take_answer(const entry_point *entry, const char *answer, size_t size)
{
    if (!answer)
        sticky = refuse("launch", CUDA_ERROR_LAUNCH_FAILED, "kernel %s: the emulator is gone", entry->name);
    else if (!strncmp(answer, "done", 4)) {
        pthread_mutex_lock(&print_lock);
        keep_prints(answer + 4, size - 4);
        pthread_mutex_unlock(&print_lock);
    } else if (!strncmp(answer, "assert", 6)) {
        sticky = CUDA_ERROR_ASSERT;
        fprintf(stderr, "%s\n", answer + 6);
    } else
        sticky = refuse("launch", CUDA_ERROR_LAUNCH_FAILED, "kernel %s: %s", entry->name, answer);
}

/* For programs that go on with a new GPU, as it were, after a kernel has failed: a real context stays as it is. */
void strict_driver_heal(void)
{
    sticky = CUDA_SUCCESS;
}

/* What the emulator gets: a line of numbers, and behind it the cubin, parameters with their sizes, and allocations. */
static void emulate(const entry_point *entry, const handle *module, const CUlaunchConfig *config, void **params)
{
    char head[1024], *answer;
    const char *hangs = getenv("STRICT_DRIVER_HANGS");
    size_t size = module->size, answer_size, count;
    unsigned char *body, *at;
    const unsigned *block = entry->is_tile ? entry->threads : &config->blockDimX;
    if ((hung = hangs && !strcmp(hangs, entry->name)) || !listened)
        return;
    for (int index = 0; index < entry->parameters; ++index)
        size += 4 + entry->sizes[index];
    pthread_mutex_lock(&table_lock);
    count = allocation_count;
    size += count * sizeof *allocations;
    at = body = malloc(size);
    memcpy(at, module->image, module->size), at += module->size;
    for (int index = 0; index < entry->parameters; ++index) {
        memcpy(at, &entry->sizes[index], 4), at += 4;
        memcpy(at, params[index], entry->sizes[index]), at += entry->sizes[index];
    }
    memcpy(at, allocations, count * sizeof *allocations);
    pthread_mutex_unlock(&table_lock);
    snprintf(head, sizeof head, "launch %s %u %u %u %u %u %u %u %zu %d %zu", entry->name, config->gridDimX, config->gridDimY,
             config->gridDimZ, block[0], block[1], block[2], config->sharedMemBytes, module->size, entry->parameters,
             count);
    answer = ask(head, strlen(head), body, size, &answer_size);
    take_answer(entry, answer, answer_size);
    free(answer);
    free(body);
}

static void record_launch(handle *graph, handle *kernel, const CUlaunchConfig *config, void **params);

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **params, void **extra)
{
    handle *found = find_handle((const void *)function, FUNCTION), *stream;
    const unsigned *grid, *block;
    CUresult status;
    IN_CONTEXT;
    NOT_NULL(config);
    found = found ? found : find_handle((const void *)function, KERNEL);
    REQUIRE(found, CUDA_ERROR_INVALID_HANDLE, "%p is no live function", (void *)function);
    STREAM_HANDLE(config->hStream);
    grid = &config->gridDimX, block = &config->blockDimX;
    status = check_shape(__func__, &found->entry, grid, block);
    if (!status)
        status = check_shared(__func__, &found->entry, config->sharedMemBytes);
    if (!status)
        status = check_attributes(__func__, &found->entry, config);
    if (!status)
        status = check_parameters(__func__, &found->entry, params, extra);
    if (status)
        return status;
    if ((stream = find_handle((const void *)config->hStream, STREAM)) && stream->graph) {
        record_launch(stream->graph, found, config, params);
        return CUDA_SUCCESS;
    }
    REQUIRE(!captures || (size_t)config->hStream > 2, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
            "a launch on the legacy stream waits for a stream that is being captured");
    show_prints();
    pthread_mutex_lock(&lock);
    emulate(&found->entry, found->owner, config, params);
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

#include "capture.c"

/* ---- names ----------------------------------------------------------------------------------------------------- */
CUresult CUDAAPI cuGetErrorName(CUresult error, const char **name)
{
    NOT_NULL(name);
    *name = error == CUDA_ERROR_LAUNCH_FAILED ? "CUDA_ERROR_LAUNCH_FAILED" : error ? "CUDA_ERROR" : "CUDA_SUCCESS";
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGetErrorString(CUresult error, const char **text)
{
    return cuGetErrorName(error, text);
}

CUresult CUDAAPI cuGetProcAddress(const char *name, void **function, int version, cuuint64_t flags,
                                  CUdriverProcAddressQueryResult *found)
{
    static const char *const endings[] = {"", "_v2", "_v3", "_v4"};
    void *own = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_NOW);
    NOT_NULL(name);
    NOT_NULL(function);
    REQUIRE(version > 0 && flags <= 2, INVALID, "version %d, flags %llu", version, (unsigned long long)flags);
    *function = NULL;
    for (size_t index = 0; !*function && index < COUNT(endings); ++index) {
        char full[256];
        snprintf(full, sizeof full, "%s%s", name, endings[index]);
        *function = dlsym(own, full);
    }
    *function = *function ? *function : stand_in_for(name);
    if (found)
        *found = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/* The name of before CUDA 13, which drivers keep. */
#undef cuEventElapsedTime
CUresult CUDAAPI cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
    return cuEventElapsedTime_v2(milliseconds, start, end);
}
