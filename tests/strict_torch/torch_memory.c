/*
 * PyTorch's memory on the strict driver: LD_PRELOADed, it serves what PyTorch built for the CPU allocates (posix_memalign, called
 * by libc10.so) from segments that it asks the driver for, as PyTorch's allocator does on a GPU. Tensors are then memory of the
 * driver, which the program and the emulator see at the same addresses.
 *
 * Nothing happens before strict_torch_begin. Blocks are as long as a class of lengths; small ones share segments. A block that
 * is given back is the next one of its class, with what was written to it still there, but for large ones, whose pages are
 * given back.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define UNIT 512u /* what a block's address and length are multiples of, as those of PyTorch on a GPU */
#define SMALL ((size_t)1 << 20)
#define SEGMENT ((size_t)2 << 20)
#define CLASSES 256
#define PAGE 4096u
#define NONE 0u

extern void __libc_free(void *); /* dlsym, which would find the next "free", may itself call it */
static int (*own_memalign)(void **, size_t, size_t);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long long base, size; /* of the driver's memory */
static size_t library_start, library_end; /* of libc10.so */
static unsigned *next_of; /* by unit: 1 + the next free block of its class */
static unsigned char *class_of; /* by unit where a block starts: 1 + its class */
static unsigned free_of[CLASSES];
static unsigned long long small_at, small_end; /* what is left of the last segment of small blocks */
static CUcontext context;
size_t strict_torch_segments; /* how many were asked for; read by tests */

static CUresult (*get_current)(CUcontext *), (*set_current)(CUcontext), (*allocate)(CUdeviceptr *, size_t);
static CUresult (*exchange)(CUstreamCaptureMode *);

/* ---- classes: four to a doubling -------------------------------------------------------------------------------- */
static size_t length_of(unsigned class)
{
    return class < 4 ? (size_t)(class + 1) * UNIT : (size_t)(5 + class % 4) * UNIT << (class / 4 - 1);
}

static unsigned class_for(size_t bytes)
{
    unsigned class = 0;
    while (length_of(class) < bytes)
        ++class;
    return class;
}

/* ---- segments ---------------------------------------------------------------------------------------------------- */
/* A capture of this thread must not keep it from getting memory. */
static unsigned long long ask_driver(size_t bytes, size_t alignment)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUcontext before = NULL;
    CUdeviceptr made = 0;
    if (get_current(&before) || set_current(context))
        return 0;
    if (!exchange(&mode)) {
        if (allocate(&made, bytes + alignment))
            made = 0;
        exchange(&mode);
    }
    set_current(before);
    ++strict_torch_segments;
    return (made + alignment - 1) / alignment * alignment;
}

static unsigned long long new_block(size_t bytes)
{
    unsigned long long made;
    if (bytes > SMALL)
        return ask_driver((bytes + SEGMENT - 1) / SEGMENT * SEGMENT, PAGE);
    if (small_end - small_at < bytes) {
        if (!(small_at = ask_driver(SEGMENT, UNIT)))
            return small_end = 0;
        small_end = small_at + SEGMENT;
    }
    made = small_at;
    small_at += bytes;
    return made;
}

static void *take(size_t bytes)
{
    unsigned class = class_for(bytes);
    unsigned long long made = 0;
    pthread_mutex_lock(&lock);
    if (free_of[class]) {
        size_t unit = free_of[class] - 1;
        free_of[class] = next_of[unit];
        made = base + unit * UNIT;
    } else if ((made = new_block(length_of(class))))
        class_of[(made - base) / UNIT] = (unsigned char)(class + 1);
    pthread_mutex_unlock(&lock);
    return (void *)made;
}

static void give_back(void *block)
{
    size_t unit = ((size_t)block - base) / UNIT;
    unsigned class = class_of[unit];
    if (!class || (size_t)block % UNIT)
        abort();
    if (length_of(--class) > SMALL)
        madvise(block, length_of(class) & ~(size_t)(PAGE - 1), MADV_REMOVE);
    pthread_mutex_lock(&lock);
    next_of[unit] = free_of[class];
    free_of[class] = (unsigned)unit + 1;
    pthread_mutex_unlock(&lock);
}

/* ---- the C library's functions ----------------------------------------------------------------------------------- */
int posix_memalign(void **made, size_t alignment, size_t bytes)
{
    size_t caller = (size_t)__builtin_return_address(0);
    if (!own_memalign)
        own_memalign = (int (*)(void **, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign");
    if (caller < library_start || caller >= library_end || alignment > UNIT || !bytes)
        return own_memalign(made, alignment, bytes);
    return (*made = take(bytes)) ? 0 : ENOMEM;
}

void free(void *block)
{
    if (size && (size_t)block - base < size)
        give_back(block);
    else
        __libc_free(block);
}

/* ---- the start ---------------------------------------------------------------------------------------------------- */
static int find_library(struct dl_phdr_info *info, size_t ignored, void *also_ignored)
{
    (void)ignored, (void)also_ignored;
    if (!strstr(info->dlpi_name, "libc10.so"))
        return 0;
    for (int index = 0; index < info->dlpi_phnum; ++index)
        if (info->dlpi_phdr[index].p_type == PT_LOAD && info->dlpi_phdr[index].p_flags & PF_X) {
            library_start = info->dlpi_addr + info->dlpi_phdr[index].p_vaddr;
            library_end = library_start + info->dlpi_phdr[index].p_memsz;
        }
    return 1;
}

static void *table(size_t bytes)
{
    void *made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return made == MAP_FAILED ? NULL : made;
}

/* From now on PyTorch's memory is the driver's, which starts at ``at`` and has ``bytes`` bytes; 0 where that is so. */
int strict_torch_begin(unsigned long long at, unsigned long long bytes)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    CUresult (*initialize)(unsigned), (*retain)(CUcontext *, CUdevice);
    if (!driver || size)
        return 1;
    initialize = (CUresult (*)(unsigned))dlsym(driver, "cuInit");
    retain = (CUresult (*)(CUcontext *, CUdevice))dlsym(driver, "cuDevicePrimaryCtxRetain");
    get_current = (CUresult (*)(CUcontext *))dlsym(driver, "cuCtxGetCurrent");
    set_current = (CUresult (*)(CUcontext))dlsym(driver, "cuCtxSetCurrent");
    allocate = (CUresult (*)(CUdeviceptr *, size_t))dlsym(driver, "cuMemAlloc_v2");
    exchange = (CUresult (*)(CUstreamCaptureMode *))dlsym(driver, "cuThreadExchangeStreamCaptureMode");
    own_memalign = (int (*)(void **, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign");
    next_of = table(bytes / UNIT * sizeof *next_of);
    class_of = table(bytes / UNIT);
    dl_iterate_phdr(find_library, NULL);
    if (!library_end || !next_of || !class_of || initialize(0) || retain(&context, 0))
        return 2;
    base = at;
    size = bytes;
    return 0;
}
