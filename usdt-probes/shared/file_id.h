/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files of the library's own in somebody else's process, which may close our descriptor, use its
 * number again, replace the file by its name, or have a limit of its files' size.
 */
#ifndef EBT_FILE_ID_H
#define EBT_FILE_ID_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct ebt_file_id {
	dev_t dev;
	ino_t ino;
};

static inline struct ebt_file_id ebt_file_id_of(const struct stat *st)
{
	return (struct ebt_file_id){st->st_dev, st->st_ino};
}
static inline bool ebt_file_id_is(const struct ebt_file_id *id, const struct stat *st)
{
	return st->st_dev == id->dev && st->st_ino == id->ino;
}
/* True if the descriptor is one of the file. */
bool ebt_file_id_has(const struct ebt_file_id *id, int fd);
/* Opens the file by its path for reading and writing. A descriptor, -ESTALE: the path is another
 * file's, or -errno. */
int ebt_file_id_open(const struct ebt_file_id *id, const char *path);

/* 0 or -EFBIG: beyond the process's limit, where the kernel would kill it by SIGXFSZ. */
int ebt_file_check_size(uint64_t bytes);

#endif
