/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Codes and positions of return addresses, as <ebtrace/recorder.h> has those of calls: a position
 * is the file of the module, and as the function the offset of the call in it and the build id, by
 * which ebtrace finds the function. A module is read while its code is on the calling thread's
 * stack, so it may be unloaded before the position is asked for. No lock, no allocation: usable in
 * any event, also while another thread loads a library.
 */
#ifndef EBT_MODULE_POSITIONS_H
#define EBT_MODULE_POSITIONS_H

#include <stddef.h>
#include <stdint.h>

#include <ebtrace/memtrace.h>

/* Makes codes, in place, of return addresses on the calling thread's stack. */
void ebt_module_codes(int64_t *frame, size_t frames);
/* As the function of struct ebt_memtrace_trace; `ctx` is not used. The names stay valid for ever.
 * 0: the address is in no module. */
size_t ebt_module_location(void *ctx, int64_t code, const struct ebt_memtrace_location **ret);

#endif
