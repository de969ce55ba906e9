/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/distinct_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_id.h"
#include "base/log.h"
#include "cmd/commands.h"
#include "cmd/message.h"

struct given {
	char *path;
	struct file_id id;
	bool is_stdin, is_regular;
};

static bool is_same(const struct given *a, const struct given *b)
{
	return (a->is_stdin && b->is_stdin) ||
	       (a->is_regular && b->is_regular && file_id_same(&a->id, &b->id));
}

static struct given look_up(char *path, bool reads_stdin)
{
	struct given g = {.path = path, .is_stdin = reads_stdin && !strcmp(path, "-")};
	struct stat st;
	g.is_regular = !g.is_stdin && !stat(path, &st) && S_ISREG(st.st_mode);
	if (g.is_regular)
		g.id = file_id_of(&st);
	return g;
}

static void report_dropped(const struct given *g, const struct given *same)
{
	if (log_level < LOG_NORMAL)
		return;
	if (g->is_stdin)
		complain("standard input is read once, as standard input");
	else
		complain("'%s' is read once, as %s", g->path, same->path);
}

int distinct_files_keep(struct engine_options *e, bool reads_stdin)
{
	struct given *kept = calloc(e->file_count + 1u, sizeof(*kept));
	unsigned n = 0;
	if (!kept) {
		complain("%s", strerror(ENOMEM));
		return EXIT_ERROR;
	}
	for (unsigned i = 0; i < e->file_count; i++) {
		struct given g = look_up(e->files[i], reads_stdin);
		unsigned j = 0;
		while (j < n && !is_same(&g, &kept[j]))
			j++;
		if (j < n)
			report_dropped(&g, &kept[j]);
		else
			kept[n++] = g;
	}
	for (unsigned i = 0; i < n; i++)
		e->files[i] = kept[i].path;
	e->file_count = n;
	free(kept);
	return 0;
}
