/* SPDX-License-Identifier: BSD-2-Clause */
#include "file_id.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "confined.h"

bool ebt_file_id_has(const struct ebt_file_id *id, int fd)
{
	struct stat st;
	return !fstat(fd, &st) && ebt_file_id_is(id, &st);
}

int ebt_file_id_open(const struct ebt_file_id *id, const char *path)
{
	if (ebt_confined())
		return -EPERM;
	int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (ebt_file_id_has(id, fd))
		return fd;
	close(fd);
	return -ESTALE;
}

int ebt_file_check_size(uint64_t bytes)
{
	struct rlimit limit;
	return !getrlimit(RLIMIT_FSIZE, &limit) && bytes > limit.rlim_cur ? -EFBIG : 0;
}
