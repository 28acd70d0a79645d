/* backends.c - every test program knows the backends that alibi links. */
#include "check/check.h"
#include "cpu/cpu.h"

__attribute__((constructor)) static void register_backends(void)
{
    backend_register(backend_cpu_library());
    backend_register(backend_check_library());
}
