/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The attacher for our own markers (provider ebtrace): those that the mode needs, without the
 * request for a ring where a seccomp filter could kill the program for it. A site whose note names
 * other arguments than our BPF program reads is reported, once a file, and not attached.
 */
#ifndef SOURCE_BPF_ATTACH_MARKERS_H
#define SOURCE_BPF_ATTACH_MARKERS_H

#include "source/bpf/attacher.h"

extern const struct attacher attach_markers;

#endif
