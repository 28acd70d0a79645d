/* peak.c - peak arithmetic of devices, from their makers' data sheets. */
#include <string.h>

#include "shape/shape.h"

/* Dense products in TFLOP/s: bf16 on tensor cores with fp32 sums; fp32 without TF32. Of two rows
 * that fit a name the first holds. NVIDIA's data sheets of each. */
static const struct {
    const char *name;
    double bf16, fp32;
} peaks[] = {
    {"H200", 989.5, 66.9},     {"GH200", 989.5, 66.9},    {"H100 PCIe", 756.0, 51.2},
    {"H100 NVL", 835.5, 60.0}, {"H100", 989.5, 66.9},     {"A100", 312.0, 19.5},
    {"L40S", 362.0, 91.6},     {"RTX 4090", 165.2, 82.6}, {"RTX 3090", 71.0, 35.6},
    {"A10G", 70.0, 31.2},      {"A10", 125.0, 31.2},      {"L4", 121.0, 30.3},
};

/* Whether text names the device as a word of its own: "NVIDIA L4" is no L40S. */
static bool peak_names(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    if (!at || (at > text && at[-1] != ' ')) return false;
    at += strlen(name);
    return *at == '\0' || *at == ' ' || *at == ',' || *at == '-';
}

double shape_peak_flops(const char *device, enum spec_precision precision)
{
    for (size_t i = 0; i < sizeof peaks / sizeof *peaks; i++)
        if (peak_names(device, peaks[i].name))
            return 1e12 * (precision == SPEC_BF16 ? peaks[i].bf16 : peaks[i].fp32);
    return 0.0;
}
