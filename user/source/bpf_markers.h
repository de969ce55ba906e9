/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which of our own markers in a file are attached to, and as what: what the mode asks for, and no
 * request for a ring where that could kill the program.
 */
#ifndef SOURCE_BPF_MARKERS_H
#define SOURCE_BPF_MARKERS_H

#include <stdbool.h>
#include <stdint.h>

#include "source/uprobe.h"

struct bpf_targets;

/* The wanted sites of the file for the process at `slot`, of which a thread may run under a seccomp
 * filter; *ret is to be freed. Their number or -errno. */
int bpf_markers_read(const struct bpf_targets *t, uint32_t slot, bool filtered, int fd,
		     struct uprobe_site **ret);

#endif
