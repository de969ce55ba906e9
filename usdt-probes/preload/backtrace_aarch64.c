/* SPDX-License-Identifier: BSD-2-Clause */
#include "backtrace.h"

const int ebt_frame_pointer_register = 29;

/* Behind the frame pointer that the called function saved; without one it may be anywhere. */
uintptr_t ebt_return_slot(uintptr_t stack, uintptr_t inner)
{
	(void)stack;
	return inner + sizeof(uintptr_t);
}

uintptr_t ebt_return_address(uintptr_t stored)
{
	register uintptr_t link __asm__("x30") = stored;
	__asm__("hint #7" : "+r"(link)); /* xpaclri; of older processors a nop */
	return link;
}
