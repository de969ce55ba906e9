/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process that downloads the requested files by libcurl, which no other process loads. Data of a
 * server may take the process over, so it has no privileges, is another user than root where it
 * can, has no descriptor but its socket, the file to write and connections, and opens no file for
 * writing. Its answers are trusted no more than the servers. It ends with us.
 */
#ifndef ELF_DEBUGINFOD_WORKER_H
#define ELF_DEBUGINFOD_WORKER_H

#include <stdint.h>
#include <sys/types.h>

#define DEBUGINFOD_URL_BYTES 4096

/* A packet, with the file to write, an empty one, as the descriptor that it carries. */
struct debuginfod_request {
	uint64_t max_bytes;
	uint32_t timeout_ms;
	char url[DEBUGINFOD_URL_BYTES];
};

/* The answer, a packet too. */
enum debuginfod_result {
	DEBUGINFOD_FOUND = 1,
	DEBUGINFOD_ABSENT,
	DEBUGINFOD_TOO_LARGE,
	DEBUGINFOD_REFUSED,	/* the server answers with an error, or no HTTP */
	DEBUGINFOD_SILENT,	/* there is no answer in time */
	DEBUGINFOD_UNREACHABLE, /* there is no connection */
	DEBUGINFOD_NO_LIBRARY,	/* there is no libcurl */
};

/* Starts the process, which writes no larger files. The caller closes *ret_socket and reaps
 * *ret_pid. 0 or -errno. */
int debuginfod_worker_start(uint64_t max_bytes, int *ret_socket, pid_t *ret_pid);

#endif
