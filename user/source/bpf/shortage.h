/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether descriptors are short, where what needs them reports another error. */
#ifndef SOURCE_BPF_SHORTAGE_H
#define SOURCE_BPF_SHORTAGE_H

/* libbpf reports EINVAL of a map for which there is no descriptor, as it tries again without the
 * map's types. -EMFILE or -ENFILE if `wanted` descriptors, up to a limit, cannot be had; else
 * 0. */
int shortage_of_files(int wanted);

#endif
