/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens a file only if it is a regular one: to open a device or a FIFO may have effects of its own. */
#ifndef PROC_REGULAR_H
#define PROC_REGULAR_H

#include <sys/types.h>

/*
 * Opens the file at a path for reading. inode: what it must be, 0: any. flags: 0 or O_NOFOLLOW. A
 * descriptor, or -errno: -EINVAL not a regular file, -ELOOP a symbolic link, -ESTALE another inode.
 */
int regular_open(const char *path, ino_t inode, int flags);

#endif
