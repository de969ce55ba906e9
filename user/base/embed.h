/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A source file inside the program: its bytes, from `name` to `name_end`. The path is from the top
 * of the tree; the Makefile names the file as one that the object depends on.
 */
#ifndef BASE_EMBED_H
#define BASE_EMBED_H

#define EMBED(name, path)                                                        \
	__asm__(".pushsection .rodata\n" #name ":\n.incbin \"" path "\"\n" #name \
		"_end:\n.popsection\n");                                         \
	extern const char name[], name##_end[]

#endif
