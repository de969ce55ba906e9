/* SPDX-License-Identifier: BSD-2-Clause */
#include "identity.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STAT_BYTES  1024
#define START_FIELD 22

/* Behind the name, which may have any character, field 3 begins. */
static bool parse_start(const char *text, uint64_t *ret)
{
	const char *p = strrchr(text, ')');
	for (unsigned field = 2; p && field < START_FIELD; field++)
		p = strchr(p + 1, ' ');
	if (!p)
		return false;
	*ret = strtoull(p + 1, NULL, 10);
	return true;
}

bool ebt_identity_read(struct ebt_identity *ret)
{
	char text[STAT_BYTES];
	struct stat st;
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	if (!parse_start(text, &ret->start) || stat("/proc/self/ns/pid", &st))
		return false;
	ret->name_space = st.st_ino;
	ret->pid = (uint32_t)getpid();
	return true;
}
