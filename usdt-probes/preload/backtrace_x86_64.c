/* SPDX-License-Identifier: BSD-2-Clause */
#include "backtrace.h"

const int ebt_frame_pointer_register = 6; /* rbp */

/* Each call pushes it. */
uintptr_t ebt_return_slot(uintptr_t stack, uintptr_t inner)
{
	(void)inner;
	return stack - sizeof(uintptr_t);
}

uintptr_t ebt_return_address(uintptr_t stored)
{
	return stored;
}
