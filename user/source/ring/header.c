/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/ring/header.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/file.h"

int ring_header_read(int fd, struct ring_header *ret, struct ring_fault *ret_fault)
{
	struct ring_header h = {0};
	struct stat st;
	struct ebt_ring_file head;
	struct ebt_ring_ext ext;

	*ret_fault = (struct ring_fault){0};
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	ssize_t n = file_read_at(fd, &head, sizeof(head), 0);
	if (n < 0)
		return (int)n;
	int err = ring_layout_parse(&head, (size_t)n, (uint64_t)st.st_size, &h.layout, ret_fault);
	if (err)
		return err;
	if (h.layout.names_offset) {
		n = file_read_at(fd, &ext, sizeof(ext), h.layout.end_offset);
		err = n < 0 ? (int)n
			    : ring_ext_parse(&ext, (size_t)n, h.layout.end_offset, &h.ext,
					     ret_fault);
	}
	if (err < 0)
		return err;
	h.has_ext = err;
	*ret = h;
	return 0;
}
