/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tries to make whoever reads its symbols busy without end, and big: debug information of some 330
 * kB, a unit for each of forty functions, in which hundreds of functions share a list of thousands
 * of ranges.
 *
 *   slow_symbols    prints "ready"; for each line of its input it emits a thousand phases and
 *                   prints "done". Each phase has these functions in its stack
 */
#include <ebtrace/probes.h>
#include <stdio.h>

/* DWARF 4. A unit of one function, with many that have all ranges of the list. */
__asm__(".pushsection .debug_abbrev,\"\",@progbits\n"
	"bomb_abbrev:\n"
	"	.uleb128 1, 0x11\n" /* DW_TAG_compile_unit, with children */
	"	.byte 1\n"
	"	.uleb128 0x11, 0x01, 0x12, 0x07, 0, 0\n" /* low_pc: addr, high_pc: data8 */
	"	.uleb128 2, 0x2e\n"			 /* DW_TAG_subprogram, without */
	"	.byte 0\n"
	"	.uleb128 0x55, 0x17, 0, 0\n" /* ranges: sec_offset */
	"	.byte 0\n"
	".popsection\n"
	".pushsection .debug_ranges,\"\",@progbits\n"
	"bomb_ranges:\n"
	".set at, 0\n"
	".rept 2000\n"
	"	.8byte at + 1, at + 0x100000\n"
	"	.set at, at + 1\n"
	".endr\n"
	"	.8byte 0, 0\n"
	".popsection\n"
	".macro bomb function\n"
	".pushsection .debug_info,\"\",@progbits\n"
	"	.4byte 4f - 1f\n"
	"1:	.2byte 4\n"
	"	.4byte bomb_abbrev\n"
	"	.byte 8\n"
	"	.uleb128 1\n"
	"	.8byte \\function\n"
	"	.8byte 64\n"
	"	.rept 1500\n"
	"	.uleb128 2\n"
	"	.4byte bomb_ranges\n"
	"	.endr\n"
	"	.byte 0\n"
	"4:\n"
	".popsection\n"
	".endm\n");

static void emit(void)
{
	for (int i = 0; i < 1000; i++) {
		ebt_begin(EBT_PHASE_minor);
		ebt_end(EBT_PHASE_minor);
	}
}

/* Each in a place of its own, so that the ranges of their units do not overlap. */
#define FUNCTION(name, calls)                                                  \
	__asm__("bomb " #name "\n");                                           \
	__attribute__((noinline, noclone, used, aligned(64))) void name(void); \
	void name(void)                                                        \
	{                                                                      \
		calls();                                                       \
		__asm__ volatile("");                                          \
	}
FUNCTION(bomb_1, emit)
FUNCTION(bomb_2, bomb_1)
FUNCTION(bomb_3, bomb_2)
FUNCTION(bomb_4, bomb_3)
FUNCTION(bomb_5, bomb_4)
FUNCTION(bomb_6, bomb_5)
FUNCTION(bomb_7, bomb_6)
FUNCTION(bomb_8, bomb_7)
FUNCTION(bomb_9, bomb_8)
FUNCTION(bomb_10, bomb_9)
FUNCTION(bomb_11, bomb_10)
FUNCTION(bomb_12, bomb_11)
FUNCTION(bomb_13, bomb_12)
FUNCTION(bomb_14, bomb_13)
FUNCTION(bomb_15, bomb_14)
FUNCTION(bomb_16, bomb_15)
FUNCTION(bomb_17, bomb_16)
FUNCTION(bomb_18, bomb_17)
FUNCTION(bomb_19, bomb_18)
FUNCTION(bomb_20, bomb_19)
FUNCTION(bomb_21, bomb_20)
FUNCTION(bomb_22, bomb_21)
FUNCTION(bomb_23, bomb_22)
FUNCTION(bomb_24, bomb_23)
FUNCTION(bomb_25, bomb_24)
FUNCTION(bomb_26, bomb_25)
FUNCTION(bomb_27, bomb_26)
FUNCTION(bomb_28, bomb_27)
FUNCTION(bomb_29, bomb_28)
FUNCTION(bomb_30, bomb_29)
FUNCTION(bomb_31, bomb_30)
FUNCTION(bomb_32, bomb_31)
FUNCTION(bomb_33, bomb_32)
FUNCTION(bomb_34, bomb_33)
FUNCTION(bomb_35, bomb_34)
FUNCTION(bomb_36, bomb_35)
FUNCTION(bomb_37, bomb_36)
FUNCTION(bomb_38, bomb_37)
FUNCTION(bomb_39, bomb_38)
FUNCTION(bomb_40, bomb_39)

int main(void)
{
	char line[64];
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		bomb_40();
		puts("done");
		fflush(stdout);
	}
	return 0;
}
