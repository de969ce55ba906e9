/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens regular files only: opening a device or a FIFO may have side effects. */
#ifndef BASE_REGULAR_H
#define BASE_REGULAR_H

#include <sys/types.h>

/*
 * Opens the file at a path for reading. inode: its expected inode, 0: any. flags: 0 or O_NOFOLLOW.
 * A descriptor, or -errno: -EINVAL not a regular file, -ELOOP a symbolic link, -ESTALE another
 * inode, -EBUSY leased (see file_open()).
 */
int regular_open(const char *path, ino_t inode, int flags);

#endif
