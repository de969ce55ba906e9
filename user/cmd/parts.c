/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/parts.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "base/plural.h"
#include "cmd/message.h"
#include "codec/capture/capture.h"

#define REPORTS_MAX 4

struct search {
	const struct outfile *f;
	const struct file_id *inputs;
	unsigned input_count;
	unsigned reports;
};

/* FILE.part and FILE.part.N, the names of outfile.c. */
static bool is_part(const char *name, const char *base)
{
	size_t len = strlen(base);
	if (strncmp(name, base, len) || strncmp(name + len, ".part", 5))
		return false;
	const char *n = name + len + 5;
	return !*n || (*n == '.' && n[1] && n[1 + strspn(n + 1, "0123456789")] == '\0');
}

static void report_left(const char *path, const char *part, bool is_capture)
{
	char mark[64];
	snprintf(mark, sizeof(mark), "recovered%s", part + strlen(path) + strlen(".part"));
	char *to = outfile_marked(path, mark);
	if (to && is_capture)
		complain("'%s' was left by an earlier run; to recover it: ebtrace '%s' -o '%s'",
			 part, part, to);
	else if (to)
		complain("'%s' was left by an earlier run; to keep it: mv '%s' '%s'", part, part,
			 to);
	free(to);
}

static void report(const struct outfile *f, const char *name, int fd)
{
	char *part;
	if (asprintf(&part, "%.*s%s", (int)(f->base - f->path), f->path, name) < 0)
		return;
	uint8_t head[CAPTURE_HEAD_BYTES];
	ssize_t n = pread(fd, head, sizeof(head), 0);
	if (flock(fd, LOCK_SH | LOCK_NB))
		complain("another run is writing '%s', now in '%s'", f->path, part);
	else if (n > 0)
		report_left(f->path, part, capture_is(head, (size_t)n));
	free(part);
}

static bool is_known(const struct search *s, const struct stat *st)
{
	for (unsigned i = 0; i < s->input_count; i++)
		if (file_id_is(&s->inputs[i], st))
			return true;
	return file_id_is(&s->f->id, st);
}

static void check(struct search *s, const char *name)
{
	struct stat st;
	/* Type first: opening a device or a FIFO can have side effects. */
	if (fstatat(s->f->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode) ||
	    st.st_uid != geteuid() || is_known(s, &st))
		return;
	int fd = file_open(s->f->dir_fd, name, O_NOFOLLOW);
	if (fd < 0)
		return;
	if (s->reports++ < REPORTS_MAX)
		report(s->f, name, fd);
	close(fd);
}

void parts_report(const struct outfile *f, const struct file_id *inputs, unsigned input_count)
{
	struct search s = {.f = f, .inputs = inputs, .input_count = input_count};
	int fd = openat(f->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (struct dirent *e; (e = readdir(dir));)
		if (is_part(e->d_name, f->base))
			check(&s, e->d_name);
	closedir(dir);
	if (s.reports > REPORTS_MAX)
		complain("and %u more part%s of '%s'", s.reports - REPORTS_MAX,
			 plural(s.reports - REPORTS_MAX), f->path);
}
