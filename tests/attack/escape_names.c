/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tries to reach the terminal, or the structure of JSON, by names: every byte, U+0080 to U+009F,
 * what ends a string in JSON and begins another member, and UTF-8 that is cut off, spread over
 * every name that a file or a process can choose.
 *
 *   escape_names rings DIR      writes DIR/1.events and more: producer, runtime, user events
 *   escape_names capture FILE   a capture: source, producers, runtimes, programs, user events
 *   escape_names asm            prints an assembler file: markers' providers, names, arguments
 *   escape_names comms          starts a process for each piece, called like it, until stdin ends
 *   escape_names dir            prints all of it as one name of a directory
 */
#include <ebtrace/probes.h>
#include <ebtrace/ring.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "codec/capture/capture.h"

#define PIECE_BYTES 15 /* of the name of a process */
#define RING_WORDS  512ull

static char everything[512];
static size_t everything_bytes;

static void gather(void)
{
	static const char injection[] = "\",\"evil\":1,\"x\":\"\\\"}{,\xe2\x82";
	char *p = everything;
	for (int c = 1; c < 256; c++)
		*p++ = (char)c;
	for (int c = 0x80; c < 0xa0; c++) {
		*p++ = (char)0xc2;
		*p++ = (char)c;
	}
	memcpy(p, injection, sizeof(injection));
	everything_bytes = (size_t)(p - everything) + sizeof(injection) - 1;
}

/* Piece i of so many bytes; false behind the last. */
static int piece(unsigned i, size_t bytes, char *ret)
{
	size_t at = i * bytes;
	if (at >= everything_bytes)
		return 0;
	size_t n = everything_bytes - at < bytes ? everything_bytes - at : bytes;
	memcpy(ret, everything + at, n);
	ret[n] = 0;
	return 1;
}

static void must(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

static void put(int fd, const void *bytes, size_t n, uint64_t offset)
{
	must(pwrite(fd, bytes, n, (off_t)offset) == (ssize_t)n, "write");
}

static void forge_ring(int fd, unsigned i, const char *name)
{
	struct ebt_ring_file h = {
		.version = EBT_RING_VERSION,
		.max_domains = 1,
		.ring_header_size = sizeof(struct ebt_ring_header),
		.ring_size_bytes = 8 * RING_WORDS,
		.ring_size_elements = RING_WORDS,
		.headers_offset = EBT_RING_HEADERS_OFFSET,
		.data_offset = EBT_RING_HEADERS_OFFSET + sizeof(struct ebt_ring_header),
	};
	h.custom_events_offset = h.data_offset + h.ring_size_bytes;
	const uint64_t record[] = {ebt_ring_event_header(2, 1, EBT_RING_USER_UNIT, 0, 0), 1 + i};
	struct ebt_ring_header ring = {.tail = 2, .events = 1};
	struct ebt_ring_ext ext = {
		.magic = EBT_RING_EXT_MAGIC,
		.size = sizeof(ext),
		.byte_order = 0x0102030405060708,
		.word_bytes = 8,
		.pid = 100 + i,
	};
	memcpy(ext.producer, name, strlen(name));
	memcpy(ext.runtime, name, strlen(name));
	put(fd, &ring, sizeof(ring), h.headers_offset);
	put(fd, record, sizeof(record), h.data_offset);
	put(fd, name, strlen(name), h.custom_events_offset);
	put(fd, &ext, sizeof(ext), h.custom_events_offset + EBT_RING_NAMES_BYTES);
	put(fd, &h, sizeof(h), 0);
}

static void forge_rings(const char *dir)
{
	char name[64], path[4096];
	for (unsigned i = 0; piece(i, sizeof(name) - 1, name); i++) {
		snprintf(path, sizeof(path), "%s/%u.events", dir, 1 + i);
		int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		must(fd >= 0, path);
		forge_ring(fd, i, name);
		close(fd);
	}
}

static void put_item(struct capture_writer *w, const struct capture_item *item)
{
	must(capture_put_item(w, item) == 0, "capture_put_item");
}

static void put_process(struct capture_writer *w, unsigned i, const char *name)
{
	struct capture_item process = {.what = CAPTURE_PROCESS, .process.pid = 100 + i};
	struct capture_item user = {.what = CAPTURE_NAME, .name.pid = 100 + i};
	const struct ebt_event event = {
		.ts = 1 + i, .kind = EBT_UNIT, .pid = 100 + i, .pos = EBT_NO_POS};
	strcpy(process.process.producer, name);
	strcpy(process.process.runtime, name);
	strcpy(process.process.comm, name);
	strcpy(user.name.text, name);
	put_item(w, &process);
	put_item(w, &user);
	must(capture_put_event(w, &event, NULL, 0) == 0, "capture_put_event");
}

static void write_block(int fd, struct capture_writer *w, enum capture_block_type type)
{
	const void *block;
	ssize_t n = capture_close_block(w, type, &block);
	must(n >= 0 && write(fd, block, (size_t)n) == n, "block");
}

static void forge_capture(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	uint8_t head[CAPTURE_HEAD_BYTES];
	struct capture_writer *w;
	char name[PIECE_BYTES + 1];
	unsigned i = 0;
	must(fd >= 0 && capture_writer_new(1, &w) == 0, path);
	capture_put_head(head);
	must(write(fd, head, sizeof(head)) == sizeof(head), path);
	struct capture_item session = {.what = CAPTURE_SESSION};
	strcpy(session.session.source, "\x1b[31m\",\"evil\":1,\"\xc2\x9b");
	strcpy(session.session.clock, "\x1b[31m\",\"evil\":1,\"\xc2\x9b");
	put_item(w, &session);
	for (; piece(i, PIECE_BYTES, name); i++)
		put_process(w, i, name);
	write_block(fd, w, CAPTURE_BLOCK_EVENTS);
	struct capture_item totals = {.what = CAPTURE_TOTALS, .totals = {i /* events */}};
	put_item(w, &totals);
	write_block(fd, w, CAPTURE_BLOCK_END);
	capture_writer_free(w);
	close(fd);
}

static void print_string(const char *s)
{
	printf("\t.ascii \"");
	for (; *s; s++)
		printf("\\%03o", (unsigned char)*s);
	printf("\\000\"\n");
}

static void print_asm(void)
{
	char name[PIECE_BYTES + 1];
	printf("\t.globl main\nmain:\n990:\tnop\n\tret\n\t.section .note.stapsdt,\"\",\"note\"\n");
	for (unsigned i = 0; piece(i, PIECE_BYTES, name); i++) {
		printf("\t.balign 4\n\t.4byte 992f-991f, 994f-993f, 3\n991:\t.asciz \"stapsdt\"\n"
		       "992:\t.balign 4\n993:\t.8byte 990b, 0, 0\n");
		for (int string = 0; string < 3; string++)
			print_string(name);
		printf("994:\t.balign 4\n");
	}
	printf("\t.section .note.GNU-stack,\"\",@progbits\n");
}

static void start_comms(void)
{
	char name[PIECE_BYTES + 1], byte;
	int ready[2];
	must(pipe(ready) == 0, "pipe");
	for (unsigned i = 0; piece(i, PIECE_BYTES, name); i++) {
		if (fork())
			continue;
		prctl(PR_SET_NAME, name);
		ebt_start();
		must(write(ready[1], "", 1) == 1, "write");
		must(read(STDIN_FILENO, &byte, 1) == 0, "read");
		exit(0);
	}
	for (unsigned i = 0; piece(i, PIECE_BYTES, name); i++)
		must(read(ready[0], &byte, 1) == 1, "read");
	printf("ready\n");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	gather();
	if (!strcmp(what, "rings") && argc == 3)
		forge_rings(argv[2]);
	else if (!strcmp(what, "capture") && argc == 3)
		forge_capture(argv[2]);
	else if (!strcmp(what, "asm"))
		print_asm();
	else if (!strcmp(what, "comms"))
		start_comms();
	else if (!strcmp(what, "dir"))
		for (int c = 1; c < 256; c++)
			c == '/' ? 0 : putchar(c);
	else
		return 2;
	return 0;
}
