#include "@.h"

/* @{file}@; its fat binaries begin at multiples of 8 bytes. */
#if defined(__cplusplus) && __cplusplus >= 201103L
alignas(64)
#elif defined(__GNUC__)
__attribute__((aligned(64)))
#endif
static const unsigned long long image[] = {
@{words}@
};

CUresult @_open_embedded(@_library **library)
{
    return @_open(library, image, @{size}@u);
}
