/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file that the user named as an output. What exists is opened as a shell's ">" opens it, but not
 * truncated, so what the kernel refuses there (fs.protected_symlinks and its like) is refused here.
 * Then it is written in one of three ways:
 *
 *   direct    it is no regular file (a FIFO, a terminal, a device): at once;
 *   in place  a link leads to it, it has several names, another owner, or a directory that we may
 *             not write to: into the file itself, which outfile_begin() empties;
 *   part      else: into FILE.part beside it (FILE.part.1, ... where that name is taken), a new file
 *             of our own, locked as long as we live, which outfile_name() gives the name.
 *
 * So a file that was complete stays so until its successor is, or in place until there is a first
 * byte. No part of another run is ever removed. All steps go through one descriptor of the directory.
 */
#ifndef CMD_OUTFILE_H
#define CMD_OUTFILE_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* What tells one file from all others, as long as one of the two is open. */
struct file_id {
	dev_t dev;
	ino_t ino;
};

struct outfile {
	const char *path;	/* as the user named it; the caller's */
	const char *base;	/* its last component */
	int dir_fd;		/* of the directory, O_PATH */
	int fd;			/* to write to */
	char *part;		/* path of the part; NULL: direct or in place */
	struct file_id id;	/* of what fd writes to */
	bool regular, in_place; /* in_place: empty it before the first byte */
	bool created;		/* in place: by us, through a link that led to nothing */
	bool existed;		/* part: the name had a file, `old` */
	struct file_id old;
	int old_fd;
	struct stat made; /* the part, when it was opened */
};

struct file_id file_id_of(const struct stat *st);
bool file_id_is(const struct file_id *id, const struct stat *st);

/* 0, or an exit status after a line on stderr. */
int outfile_open(struct outfile *f, const char *path);
/* Before the first byte is written. 0 or -errno. */
int outfile_begin(struct outfile *f);
/*
 * Closes what is written, and gives a part its name; not if writing failed (err) or if the name has
 * got another file in the meantime: the part then stays, and a line says so. `err`, or else the
 * first -errno of closing and naming.
 */
int outfile_name(struct outfile *f, int err);
/* Opens another part with the same mode and group after a part has got its name. 0 or -errno. */
int outfile_next(struct outfile *f);
void outfile_close(struct outfile *f);
/* Closes; of what nothing was written to nothing stays. */
void outfile_drop(struct outfile *f);
/* The path with ".MARK" before its suffix: run.MARK.ebt. The caller's to free; NULL: no memory. */
char *outfile_marked(const char *path, const char *mark);
/* The line that says why a path (NULL: standard output) cannot be written. Returns EXIT_ERROR. */
int outfile_cannot_write(const char *path, int err);

#endif
