// SPDX-License-Identifier: BSD-2-Clause
#include "proc/return_address.h"

#include <string.h>

#if defined(__aarch64__)
bool return_address_follows_call(const uint8_t code[RETURN_ADDRESS_BYTES])
{
	uint32_t insn;
	memcpy(&insn, code + 4, sizeof(insn));
	/* bl; blr, and those that authenticate the address. */
	return insn >> 26 == 0x25 || (insn & 0xfefff000) == 0xd63f0000;
}

/* It is in a register. */
bool return_address_is_next(const uint8_t insn[RETURN_INSN_BYTES])
{
	(void)insn;
	return false;
}
#else
bool return_address_follows_call(const uint8_t code[RETURN_ADDRESS_BYTES])
{
	/* A call of a register or of memory, by the length of its operand. */
	static const unsigned lengths[] = {2, 3, 4, 6, 7};
	if (code[RETURN_ADDRESS_BYTES - 5] == 0xe8)
		return true;
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		const uint8_t *at = code + RETURN_ADDRESS_BYTES - lengths[i];
		if (at[0] == 0xff && (at[1] & 0x38) == 0x10)
			return true;
	}
	return false;
}

bool return_address_is_next(const uint8_t insn[RETURN_INSN_BYTES])
{
	/* ret, ret with the size of arguments, rep ret */
	return insn[0] == 0xc3 || insn[0] == 0xc2 || (insn[0] == 0xf3 && insn[1] == 0xc3);
}
#endif
