/* emulation_launch.cpp - checks of a launch, and the record of kernels. */
#include "emulation_block.h"
#include "emulation_device.h"

#include <dlfcn.h>
#include <map>
#include <stdlib.h>

/* The largest launch of each kernel that was launched outside a capture, and is therefore loaded. */
struct launch_sizes {
    unsigned threads;
    size_t shared_bytes;
};
static std::map<const void *, struct launch_sizes> loaded;

static void launches_print()
{
    FILE *f = fopen(getenv("EMULATION_LAUNCHES"), "a");
    if (!f) return;
    for (const auto &[address, sizes] : loaded) {
        Dl_info at = {};
        if (dladdr(address, &at))
            fprintf(f, "%lx %u %zu\n", (long)((const char *)address - (const char *)at.dli_fbase),
                    sizes.threads, sizes.shared_bytes);
    }
    fclose(f);
}

static const char *launch_fault(dim3 grid, dim3 block, size_t shared_bytes)
{
    unsigned long threads = (unsigned long)block.x * block.y * block.z;
    if (threads == 0 || threads > WARPS_MAX * WARP || block.z > 64)
        return "launch: a block needs 1 to 1024 threads, 64 in z";
    if (grid.x == 0 || grid.x > 0x7fffffff || grid.y == 0 || grid.y > 65535 || grid.z == 0 ||
        grid.z > 65535)
        return "launch: a grid needs 1 to 2147483647, 65535, 65535 blocks";
    if (shared_bytes > emulation_shared_most())
        return "launch: more shared memory than a block of this device may have";
    return nullptr;
}

cudaError_t emulation_launch(const void *kernel, dim3 grid, dim3 block, size_t shared_bytes,
                             cudaStream_t stream, const std::function<void()> &call)
{
    const char *fault = launch_fault(grid, block, shared_bytes);
    if (cudaError_t lost = device_lost()) return lost;
    if (cudaError_t lost = device_count_launch()) return lost;
    if (cudaError_t refusal = device_refuse_kernel()) return refusal;
    if (fault) return device_error(cudaErrorInvalidConfiguration, fault);
    if (loaded.count(kernel) == 0 && stream_is_captured(stream))
        return capture_spoil(cudaErrorStreamCaptureUnsupported,
                             "launch: a kernel that was never launched before it is captured");
    if (loaded.empty() && getenv("EMULATION_LAUNCHES")) atexit(launches_print);
    struct launch_sizes &sizes = loaded[kernel];
    sizes.threads = block.x * block.y * block.z;
    if (shared_bytes > sizes.shared_bytes) sizes.shared_bytes = shared_bytes;
    return stream_put(stream, [=] { machine_run(grid, block, shared_bytes, call); });
}
