/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

int regular_open(const char *path, ino_t inode, int flags)
{
	int handle = open(path, O_PATH | O_CLOEXEC | flags);
	if (handle < 0)
		return -errno;
	struct stat st;
	int fd = -ESTALE;
	if (fstat(handle, &st))
		fd = -errno;
	else if (!S_ISREG(st.st_mode))
		fd = S_ISLNK(st.st_mode) ? -ELOOP : -EINVAL;
	else if (!inode || st.st_ino == inode) {
		char self[32];
		snprintf(self, sizeof(self), "/proc/self/fd/%d", handle);
		fd = file_open(AT_FDCWD, self, 0);
	}
	close(handle);
	return fd;
}
