/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The OCaml runtimes of the traced processes. A runtime is probed while its own ring is off, and
 * left alone while it is on: then the ring tells what happens, at a hundredth of the cost. Which
 * of the two holds is looked up again at every scan; in between the BPF program itself looks at
 * the ring's flag, so no event comes twice.
 */
#ifndef SOURCE_BPF_OCAML_H
#define SOURCE_BPF_OCAML_H

#include <ebtrace/cursor.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/maps.h"

struct bpf_targets;
struct bpf_ocaml;

/* Numbers of the domains of the second runtime in a process start here, of the third at twice… */
#define BPF_OCAML_DOMAINS 128

struct ocaml_runtime;

/* Adds the runtime in a file that a process maps; takes the descriptor. 0 or -errno. */
int bpf_ocaml_new(struct bpf_targets *t, uint32_t slot, const struct maps_entry *e, int fd,
		  const struct ocaml_runtime *runtime, struct bpf_ocaml **ret);
/* Attaches or detaches, as its ring is off or on. The number of sites attached by this call, or
 * -errno. */
int bpf_ocaml_update(struct bpf_targets *t, struct bpf_ocaml *o, uint64_t now_ns);
bool bpf_ocaml_ring_is_on(const struct bpf_ocaml *o); /* as of the last update */
/* Since when its events were missed that are seen from now on; 0: none were. unwatched_ns: the process
 * was not looked at before. */
uint64_t bpf_ocaml_missed(const struct bpf_targets *t, const struct bpf_ocaml *o,
			  uint64_t unwatched_ns);
/* True if the file's functions are probed in all processes, since before born_ns. */
bool bpf_ocaml_covers(const struct bpf_targets *t, uint64_t dev, uint64_t inode, uint64_t born_ns);
/* Goes back to a link a process where too many others run the file. */
void bpf_ocaml_check_foreign(struct bpf_targets *t, uint64_t now_ns);
void bpf_ocaml_unshare_all(struct bpf_targets *t);
void bpf_ocaml_free(struct bpf_targets *t, struct bpf_ocaml *o); /* detaches; NULL is allowed */

#endif
