/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The source positions of return addresses of OCaml native code, from the debug information of its
 * frame descriptors, in the layouts of OCaml 5.0 to 5.5: function, file, line and characters, and
 * the functions that were inlined. It is there whatever was stripped, if the code was compiled with
 * -g. Memory is read through a function of the caller, be it a process's or a file's; it is not
 * trusted, and every count that it holds is bounded.
 */
#ifndef RUNTIME_OCAML_FRAMES_H
#define RUNTIME_OCAML_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "session/traits.h"

#define OCAML_POSITIONS_MAX 32
#define OCAML_NAME_BYTES    256
#define OCAML_LENGTHS_MAX   255

/*
 * When C calls OCaml, the runtime saves registers on the stack of C, and links what it has saved.
 * The words from the link on at which the return address into C and C's frame pointer are, by the
 * ways in which a runtime may be compiled.
 */
struct ocaml_link {
	uint8_t pc, fp;
};
#if defined(__aarch64__)
#define OCAML_LINKS 1 /* not known */
static const struct ocaml_link ocaml_links[OCAML_LINKS] = {{0, 0}};
#else
#define OCAML_LINKS 2 /* without frame pointers, with */
static const struct ocaml_link ocaml_links[OCAML_LINKS] = {{9, 7}, {10, 9}};
#endif

struct ocaml_memory {
	/* Copies bytes at an address. Their number, which may be less, or -errno. */
	int (*read)(void *ctx, uint64_t address, void *ret, size_t bytes);
	void *ctx;
	struct runtime_version version;
};

struct ocaml_position {
	char function[OCAML_NAME_BYTES], file[OCAML_NAME_BYTES]; /* cut if they are longer */
	uint32_t line, start_char, end_char; /* the end is counted from the start's line on */
};

/*
 * Native code makes several allocations at once. With free_words words free before the heap's
 * trigger: the number of the allocation that reached the trigger, and in *ret_words its words.
 * -ENOENT: the descriptor is not that of an allocation.
 */
int ocaml_frames_allocation(const struct ocaml_memory *m, uint64_t descriptor, uint64_t free_words,
			    uint32_t *ret_words);
/*
 * The positions of a descriptor, the outermost first; allocation: of this one, or < 0. Returns
 * their number, 0: it has none.
 */
unsigned ocaml_frames_positions(const struct ocaml_memory *m, uint64_t descriptor, int allocation,
				struct ocaml_position ret[OCAML_POSITIONS_MAX]);

#endif
