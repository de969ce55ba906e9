/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Positions of return addresses without symbols: the file of the module, and as the function `+0x`
 * and the address of the call in that file, as addr2line takes it. No lock, no allocation: usable in
 * any event, also while another thread loads a library.
 */
#ifndef EBT_MODULE_POSITIONS_H
#define EBT_MODULE_POSITIONS_H

#include <stddef.h>
#include <stdint.h>

#include <ebtrace/memtrace.h>

/* As the function of struct ebt_memtrace_trace; `ctx` is not used. The names stay valid for ever. */
size_t ebt_module_location(void *ctx, int64_t address, const struct ebt_memtrace_location **ret);

#endif
