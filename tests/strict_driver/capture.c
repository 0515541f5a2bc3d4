/*
 * A part of strict_driver.c: graphs that are captured from launches, memory in the order of a stream, and what cuTile's own
 * host code asks besides. CUDA Programming Guide, "Creating a Graph Using Stream Capture".
 */

/* ---- capture --------------------------------------------------------------------------------------------------- */
typedef struct node {
    struct node *next;
    handle *kernel;
    CUlaunchConfig config;
    unsigned char *data[MAX_PARAMETERS];
} node;

static handle *new_graph(void)
{
    handle *made = make_handle(GRAPH, NULL);
    made->nodes = NULL;
    return made;
}

/* What a launch on a capturing stream leaves: the parameters as they are now. */
static void record_launch(handle *graph, handle *kernel, const CUlaunchConfig *config, void **params)
{
    node *made = calloc(1, sizeof *made), **last = (node **)&graph->nodes;
    made->kernel = kernel;
    made->config = *config;
    for (int index = 0; index < kernel->entry.parameters; ++index) {
        made->data[index] = malloc(kernel->entry.sizes[index]);
        memcpy(made->data[index], params[index], kernel->entry.sizes[index]);
    }
    while (*last)
        last = &(*last)->next;
    *last = made;
}

CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    CUstreamCaptureMode before = interaction;
    NOT_NULL(mode);
    REQUIRE((unsigned)*mode <= CU_STREAM_CAPTURE_MODE_RELAXED, INVALID, "%d is no mode", (int)*mode);
    interaction = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode)
{
    IN_CONTEXT;
    REQUIRE((size_t)stream > 2, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the legacy stream cannot be captured");
    HANDLE(found, stream, STREAM);
    REQUIRE(!found->graph, CUDA_ERROR_ILLEGAL_STATE, "a capture of the stream is already in progress");
    REQUIRE(mode == CU_STREAM_CAPTURE_MODE_GLOBAL, INVALID, "this driver knows the global mode only");
    found->graph = new_graph();
    ++captures;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    IN_CONTEXT;
    NOT_NULL(graph);
    HANDLE(found, stream, STREAM);
    REQUIRE(found->graph, CUDA_ERROR_ILLEGAL_STATE, "the stream is not captured");
    *graph = (CUgraph)found->graph;
    found->graph = NULL;
    --captures;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    handle *found = find_handle((const void *)stream, STREAM);
    IN_CONTEXT;
    NOT_NULL(status);
    STREAM_HANDLE(stream);
    *status = found && found->graph ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec *made, CUgraph graph, unsigned long long flags)
{
    handle *exec;
    IN_CONTEXT;
    NOT_NULL(made);
    HANDLE(found, graph, GRAPH);
    REQUIRE(!flags, INVALID, "flags are %#llx", flags);
    exec = make_handle(GRAPH_EXEC, NULL);
    exec->nodes = found->nodes;
    *made = (CUgraphExec)exec;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec graph, CUstream stream)
{
    IN_CONTEXT;
    HANDLE(found, graph, GRAPH_EXEC);
    STREAM_HANDLE(stream);
    NOT_CAPTURED(stream);
    for (node *one = found->nodes; one; one = one->next)
        REQUIRE(one->kernel->kind != DEAD, CUDA_ERROR_INVALID_HANDLE, "kernel %s was unloaded since", one->kernel->entry.name);
    show_prints();
    pthread_mutex_lock(&lock);
    for (node *one = found->nodes; one; one = one->next)
        emulate(&one->kernel->entry, one->kernel->owner, &one->config, (void **)one->data);
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphDestroy(CUgraph graph)
{
    IN_CONTEXT;
    HANDLE(found, graph, GRAPH);
    found->kind = DEAD;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec graph)
{
    IN_CONTEXT;
    HANDLE(found, graph, GRAPH_EXEC);
    found->kind = DEAD;
    return CUDA_SUCCESS;
}

/* ---- memory in the order of a stream ----------------------------------------------------------------------------- */
CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr *address, size_t size, CUstream stream)
{
    IN_CONTEXT;
    STREAM_HANDLE(stream);
    NOT_CAPTURED(stream);
    return cuMemAlloc(address, size);
}

CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
    IN_CONTEXT;
    STREAM_HANDLE(stream);
    NOT_CAPTURED(stream);
    return cuMemFree(address);
}

CUresult CUDAAPI cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t size, CUstream stream)
{
    IN_CONTEXT;
    NOT_NULL(from);
    MEMORY(to, size);
    STREAM_HANDLE(stream);
    NOT_CAPTURED(stream);
    memcpy((void *)to, from, size);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAllocHost(void **address, size_t size)
{
    IN_CONTEXT;
    NOT_NULL(address);
    return (*address = malloc(size)) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult CUDAAPI cuMemFreeHost(void *address)
{
    IN_CONTEXT;
    free(address);
    return CUDA_SUCCESS;
}

/* ---- what cuTile asks ------------------------------------------------------------------------------------------- */
CUresult CUDAAPI cuCtxPushCurrent(CUcontext context)
{
    INITIALIZED;
    HANDLE(found, context, CONTEXT);
    REQUIRE(!current || current == found, CUDA_ERROR_INVALID_CONTEXT, "this driver has one context only");
    current = found;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxPopCurrent(CUcontext *context)
{
    IN_CONTEXT;
    if (context)
        *context = (CUcontext)current;
    current = NULL;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetId(CUcontext context, unsigned long long *number)
{
    IN_CONTEXT;
    NOT_NULL(number);
    (void)context;
    *number = 1;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamGetCtx(CUstream stream, CUcontext *context)
{
    IN_CONTEXT;
    NOT_NULL(context);
    STREAM_HANDLE(stream);
    *context = (CUcontext)current;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamGetId(CUstream stream, unsigned long long *number)
{
    IN_CONTEXT;
    NOT_NULL(number);
    STREAM_HANDLE(stream);
    *number = (size_t)stream;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventQuery(CUevent event)
{
    IN_CONTEXT;
    HANDLE(found, event, EVENT);
    (void)found;
    return hung ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

CUresult CUDAAPI cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
    IN_CONTEXT;
    NOT_NULL(function);
    NOT_CAPTURING;
    HANDLE(found, kernel, KERNEL);
    *function = (CUfunction)found;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel kernel, CUdevice device)
{
    INITIALIZED;
    NOT_NULL(value);
    DEVICE(device);
    HANDLE(found, kernel, KERNEL);
    REQUIRE(attribute == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, INVALID, "attribute %d is not known here", (int)attribute);
    *value = (int)found->entry.static_shared;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void **params,
                                void **extra)
{
    CUlaunchConfig config = {grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, NULL, 0};
    return cuLaunchKernelEx(&config, function, params, extra);
}

/* ---- memory of other processes ------------------------------------------------------------------------------------ */
CUresult CUDAAPI cuMemGetAddressRange(CUdeviceptr *base, size_t *size, CUdeviceptr address)
{
    const allocation *found = find_memory(address, 0);
    IN_CONTEXT;
    REQUIRE(found, CUDA_ERROR_NOT_FOUND, "%#llx is in no allocation", (unsigned long long)address);
    if (base)
        *base = found->base;
    if (size)
        *size = found->size;
    return CUDA_SUCCESS;
}

enum { PEER = 0x52454550 };

/* What a handle holds: the process that owns the memory, its file of all of it, and where in it the allocation lies. */
typedef struct {
    unsigned magic;
    int process, file;
    unsigned long long offset, size;
} peer_handle;

_Static_assert(sizeof(peer_handle) <= CU_IPC_HANDLE_SIZE, "a handle has no more space");

CUresult CUDAAPI cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address)
{
    const allocation *found = find_memory(address, 0);
    peer_handle made = {.magic = PEER, .process = getpid(), .file = memory_file};
    IN_CONTEXT;
    NOT_NULL(handle);
    REQUIRE(found && address < PEER_BASE, INVALID, "%#llx is in no allocation of this process", (unsigned long long)address);
    made.offset = found->base - MEMORY_BASE;
    made.size = found->size;
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &made, sizeof made);
    return CUDA_SUCCESS;
}

/* Let the emulator have the same bytes at the same address, or not any more. */
static int tell_peer(const char *verb, const char *file, unsigned long long start, unsigned long long at, size_t size)
{
    char head[256], *answer;
    size_t got;
    int done;
    snprintf(head, sizeof head, "%s %s %llu %llu %zu", verb, file, start, at, size);
    answer = ask(head, strlen(head), "", 0, &got);
    done = answer && !strncmp(answer, "done", 4);
    free(answer);
    return done;
}

CUresult CUDAAPI cuIpcOpenMemHandle(CUdeviceptr *address, CUipcMemHandle handle, unsigned flags)
{
    static unsigned long long next = PEER_BASE;
    unsigned long long start, at;
    peer_handle given;
    char path[64];
    size_t size;
    void *mapped;
    int file;
    memcpy(&given, &handle, sizeof given);
    IN_CONTEXT;
    NOT_NULL(address);
    REQUIRE(flags == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS, INVALID, "flags are %#x", flags);
    REQUIRE(allocation_count < MAX_ALLOCATIONS, CUDA_ERROR_OUT_OF_MEMORY, "there are too many allocations");
    REQUIRE(given.magic == PEER, CUDA_ERROR_INVALID_HANDLE, "this is no handle of memory");
    REQUIRE(given.process != getpid(), CUDA_ERROR_INVALID_CONTEXT, "the memory is of this process");
    start = given.offset / 4096 * 4096;
    size = given.offset - start + given.size;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", given.process, given.file);
    file = open(path, O_RDWR | O_CLOEXEC);
    REQUIRE(file >= 0, CUDA_ERROR_INVALID_HANDLE, "the process of the memory is gone");
    pthread_mutex_lock(&table_lock);
    at = next;
    next += (size + 2 * 4096 - 1) / 4096 * 4096;
    pthread_mutex_unlock(&table_lock);
    mapped = mmap((void *)at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, file, (off_t)start);
    close(file);
    REQUIRE(mapped == (void *)at && tell_peer("open", path, start, at, size), CUDA_ERROR_MAP_FAILED, "it cannot be mapped");
    *address = at + given.offset - start;
    pthread_mutex_lock(&table_lock);
    allocations[allocation_count++] = (allocation){*address, given.size};
    pthread_mutex_unlock(&table_lock);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuIpcCloseMemHandle(CUdeviceptr address)
{
    const allocation *found = find_memory(address, 0);
    unsigned long long at;
    size_t size;
    IN_CONTEXT;
    REQUIRE(found && found->base == address && address >= PEER_BASE, INVALID, "%#llx was not opened", (unsigned long long)address);
    at = address / 4096 * 4096;
    size = address - at + found->size;
    pthread_mutex_lock(&table_lock);
    allocations[found - allocations] = allocations[--allocation_count];
    pthread_mutex_unlock(&table_lock);
    munmap((void *)at, size);
    REQUIRE(tell_peer("close", "-", 0, at, size), CUDA_ERROR_UNKNOWN, "it cannot be given back");
    return CUDA_SUCCESS;
}

/* cuTile's launcher looks these up before it launches anything; to call one is refused. */
static const char *const not_here[] = {
    "cuGraphAddEventRecordNode", "cuGraphAddKernelNode", "cuGraphAddMemAllocNode", "cuGraphAddMemFreeNode",
    "cuGraphAddMemsetNode", "cuGraphCreate",
};

static CUresult refuse_call(void)
{
    return refuse("a function that this driver has not", CUDA_ERROR_NOT_SUPPORTED, "it was called");
}

static void *stand_in_for(const char *name)
{
    for (size_t index = 0; index < COUNT(not_here); ++index)
        if (!strcmp(name, not_here[index]))
            return (void *)refuse_call;
    return NULL;
}
