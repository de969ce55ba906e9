/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Facts that the library reads from /proc, without allocating. If /proc is not mounted or has no
 * answer, the harmless answer is returned.
 */
#ifndef EBT_PROCFS_H
#define EBT_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Field 22 of /proc/self/stat, 0: not known; and this process's name, NUL-padded. */
uint64_t ebt_proc_start_time(char *comm, size_t bytes);
/* Fills `id` with the boot id, NUL-padded. */
void ebt_proc_boot_id(char *id, size_t bytes);
/* True if this process maps a file of this inode under a path that ends in /name, or if that is
 * unknown. */
bool ebt_proc_maps_inode(ino_t ino, const char *name);
/* The youngest child of the calling thread; 0: not known. */
pid_t ebt_proc_last_child(void);

#endif
