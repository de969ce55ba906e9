/* SPDX-License-Identifier: BSD-2-Clause */
/* Which file it is, by whatever name: its device and inode, for as long as it exists. */
#ifndef BASE_FILE_ID_H
#define BASE_FILE_ID_H

#include <stdbool.h>
#include <sys/stat.h>

struct file_id {
	dev_t dev;
	ino_t ino;
};

static inline struct file_id file_id_of(const struct stat *st)
{
	return (struct file_id){.dev = st->st_dev, .ino = st->st_ino};
}

static inline bool file_id_is(const struct file_id *id, const struct stat *st)
{
	return id->dev == st->st_dev && id->ino == st->st_ino;
}

static inline bool file_id_same(const struct file_id *a, const struct file_id *b)
{
	return a->dev == b->dev && a->ino == b->ino;
}

#endif
