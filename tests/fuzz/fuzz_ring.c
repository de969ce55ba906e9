/* SPDX-License-Identifier: BSD-2-Clause */
/* A ring file of any bytes: layout, extension block, fetching and decoding, payloads, names. */
#include <ebtrace/cursor.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int touch(const struct ebt_event *ev, const void *payload, size_t bytes, void *ctx)
{
	for (size_t i = 0; i < bytes; i++)
		*(volatile uint8_t *)ctx = ((const uint8_t *)payload)[i];
	return ev->kind == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ebt_cursor *c;
	uint8_t sink;
	int fd = memfd_create("ring", MFD_CLOEXEC);
	if (write(fd, data, size) != (ssize_t)size)
		return close(fd);
	if (!ebt_cursor_open_fd(fd, "fuzz", EBT_RELEASE_AUTO, &c, NULL)) {
		ebt_cursor_poll(c, touch, &sink, 0);
		ebt_cursor_user_name(c, 0);
		ebt_cursor_close(c);
	}
	return 0;
}
