/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads what a ring file declares of itself: its header and, if it has one, its extension block. It
 * reads neither the rings nor their headers, and keeps nothing of the file.
 */
#ifndef SOURCE_RING_HEADER_H
#define SOURCE_RING_HEADER_H

#include "codec/ring/layout.h"

struct ring_header {
	struct ring_layout layout;
	bool has_ext; /* ext is valid: the file is of our library */
	struct ring_ext ext;
};

/*
 * Reads the header of an open file, which stays open. 0; -EINVAL: not a regular file; an error of
 * ring_layout_parse() or ring_ext_parse(), with *ret_fault; -errno. ret_fault->what is NULL if the
 * content is not the reason.
 */
int ring_header_read(int fd, struct ring_header *ret, struct ring_fault *ret_fault);

#endif
