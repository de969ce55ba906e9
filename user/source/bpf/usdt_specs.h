/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the BPF program of the user's markers knows of sites (struct ebt_usdt_spec): each kind of
 * site once, however many files and processes have some. They stay for the run: a link may be
 * removed later than the files that it is in are known to be gone.
 */
#ifndef SOURCE_BPF_USDT_SPECS_H
#define SOURCE_BPF_USDT_SPECS_H

#include "base/map.h"
#include "bpf/abi.h"

/* Zeroed memory is empty. Fields are private. */
struct usdt_specs {
	struct ebt_usdt_spec *spec; /* by key */
	uint32_t count, room;
	struct map index; /* the last one by a hash of it */
};

void usdt_specs_done(struct usdt_specs *s);
/* The key of a spec, which is all of its bytes; *ret_new: the kernel does not have it yet. -E2BIG:
 * there are too many, -ENOMEM. */
int usdt_specs_key(struct usdt_specs *s, const struct ebt_usdt_spec *spec, bool *ret_new);

#endif
