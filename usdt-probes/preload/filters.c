/* SPDX-License-Identifier: BSD-2-Clause */
#include "filters.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK_BYTES 512
#define CARRY_BYTES 48 /* longer than a line that is searched for */
#define MODE	    "\nSeccomp:\t"
#define FILTERS	    "\nSeccomp_filters:\t" /* since Linux 5.9 */
#define MODE_STRICT 1
#define MISSING	    ULONG_MAX

static void find_value(const char *text, const char *name, unsigned long *ret)
{
	const char *p = strstr(text, name);
	if (p && strchr(p + 1, '\n'))
		*ret = strtoul(p + strlen(name), NULL, 10);
}

unsigned ebt_filters_read(void)
{
	char text[CARRY_BYTES + CHUNK_BYTES + 1];
	unsigned long mode = 0, filters = MISSING;
	size_t carry = 0;
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	for (ssize_t n; (n = read(fd, text + carry, CHUNK_BYTES)) > 0;) {
		size_t bytes = carry + (size_t)n;
		text[bytes] = 0;
		find_value(text, MODE, &mode);
		find_value(text, FILTERS, &filters);
		carry = bytes < CARRY_BYTES ? bytes : CARRY_BYTES;
		memmove(text, text + bytes - carry, carry);
	}
	close(fd);
	if (mode == MODE_STRICT)
		return UINT_MAX;
	return filters == MISSING ? mode != 0 : (unsigned)filters;
}
