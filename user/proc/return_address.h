/* SPDX-License-Identifier: BSD-2-Clause */
/* Instructions around return addresses: whether an address can be one to which a function returns,
 * as it is behind a call, and whether an instruction returns. */
#ifndef PROC_RETURN_ADDRESS_H
#define PROC_RETURN_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#define RETURN_ADDRESS_BYTES 8
#define RETURN_INSN_BYTES    2

/* code: the bytes before the address. */
bool return_address_follows_call(const uint8_t code[RETURN_ADDRESS_BYTES]);
/* True if the instruction returns to the address at the stack pointer. */
bool return_address_is_next(const uint8_t insn[RETURN_INSN_BYTES]);

#endif
