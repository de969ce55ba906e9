/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether an address can be one to which a function returns: it is behind a call. */
#ifndef PROC_RETURN_ADDRESS_H
#define PROC_RETURN_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#define RETURN_ADDRESS_BYTES 8

/* code: the bytes before the address. */
bool return_address_follows_call(const uint8_t code[RETURN_ADDRESS_BYTES]);

#endif
