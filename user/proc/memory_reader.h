/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the files of /proc that depend on a process's memory: environ, mem, maps and pagemap, and
 * opens what a process has mapped (map_files). Such a call can wait for ever, in a state that no
 * signal ends: the pages may be of a file on a FUSE file system that gives no answer, and a call
 * that waits for one holds up all others on the same process. So a worker process reads. It is
 * killed and given up if it waits for a second; the next read has a new one. Each worker that is
 * given up halves the time that the next may take, so that many cost little more than few.
 */
#ifndef PROC_MEMORY_READER_H
#define PROC_MEMORY_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/maps.h"

struct memory_reader;

/* NULL: no memory. The worker is started by the first read. */
struct memory_reader *memory_reader_new(void);
/* Files that are mapped from this directory, which is ours on a file system of the kernel's, are
 * opened without the worker. dir: its descriptor, which outlives the reader's last open; -1: none.
 * r: NULL is allowed. */
void memory_reader_own_dir(struct memory_reader *r, int dir);
void memory_reader_free(struct memory_reader *r); /* NULL is allowed */

/*
 * Reads up to n bytes at an offset of the file `name` in /proc/PID. Bytes read, fewer at its end;
 * or -errno: -ETIMEDOUT: given up; -ECANCELED: the user has asked to end. r: NULL: reads without a
 * worker.
 */
ssize_t memory_reader_read(struct memory_reader *r, pid_t pid, const char *name, uint64_t offset,
			   void *ret, size_t n);

/*
 * Reads a variable of the environment with which a process was started. Returns the length of its
 * value and writes at most cap - 1 bytes and a NUL; -ENOENT: not set, or empty; -ENODATA: there is
 * no variable, as in a process that ends or calls exec; -errno.
 */
ssize_t memory_reader_getenv(struct memory_reader *r, pid_t pid, const char *name, char *ret,
			     size_t cap);

/*
 * A range, or the first part of the environment, that is likely to be read when the mappings of the
 * process have been read next. The worker reads it in the same conversation, once; a
 * memory_reader_read() of exactly this range takes it then, within 2 ms and before anything else
 * is asked for. Of more than 64 the oldest are forgotten, which costs a conversation each; so does
 * one of more than 16 KiB. r: NULL: it does nothing.
 */
void memory_reader_expect(struct memory_reader *r, pid_t pid, const char *name, uint64_t offset,
			  size_t n);
void memory_reader_expect_environ(struct memory_reader *r, pid_t pid);

/* Reads the mappings of a set, as maps_each() has them, of the first 64 MiB: 0 or -errno, as
 * ret->err. The caller frees *ret. Before Linux 6.18 the read waits for the lock of the address
 * space. -ETIMEDOUT: given up. r: NULL: reads without a worker. */
int memory_reader_list(struct memory_reader *r, pid_t pid, enum maps_set set,
		       struct maps_list *ret);
/* Calls fn for each of them, until it returns non-zero, which is then returned. */
int memory_reader_maps(struct memory_reader *r, pid_t pid, enum maps_set set,
		       int (*fn)(const struct maps_entry *e, void *ctx), void *ctx);
/* How often mappings were read. */
uint64_t memory_reader_maps_reads(const struct memory_reader *r);
/* How often files of mappings were to be opened. */
uint64_t memory_reader_opens(const struct memory_reader *r);

struct pagemap_run;
/* As pagemap_read(), for the whole process. dir: its descriptor of pagemap_open(). The page tables
 * are read under the lock of the address space. -ETIMEDOUT: given up, behind the runs that came.
 * *ret_cpu_ns: the CPU time of the read; 0 without a worker. r: NULL: reads without a worker. */
int memory_reader_pages(struct memory_reader *r, pid_t pid, int dir, bool plain,
			int (*fn)(void *ctx, const struct pagemap_run *run), void *ctx,
			uint64_t *ret_cpu_ns);

/*
 * As maps_open(). The first bytes of a file on a file system without a block device are read, too,
 * as that may be served by a program or another machine. -ETIMEDOUT: the kernel or the file system
 * gave no answer. r: NULL: opens at once.
 */
int memory_reader_open(struct memory_reader *r, pid_t pid, const struct maps_entry *e);

/* Reads that were given up; *ret_pid: the process of the first one. */
unsigned memory_reader_given_up(const struct memory_reader *r, pid_t *ret_pid);

#endif
