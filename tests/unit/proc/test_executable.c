/* SPDX-License-Identifier: BSD-2-Clause */
/* Which file a program's name is, by PATH. */
#include "proc/executable.h"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/tap.h"

static char dir[] = "/tmp/ebt-executable-XXXXXX";

static void make(const char *name, mode_t mode)
{
	FILE *f = fopen(name, "we");
	if (!f || fclose(f) || chmod(name, mode))
		abort();
}

static void check(const char *path, const char *name, const char *want, const char *what)
{
	char found[256] = "";
	setenv("PATH", path, 1);
	bool has = executable_find(name, found, sizeof(found));
	ok(has == (want != NULL) && (!has || !strcmp(found, want)), "%s", what) ||
		(diag("found '%s'", found), 0);
}

int main(void)
{
	char path[64], want[64];
	if (!mkdtemp(dir) || chdir(dir) || mkdir("bin", 0755) || mkdir("bin/here", 0755))
		return skip_all("needs a temporary directory");
	make("here", 0755);
	make("bin/there", 0755);
	make("bin/plain", 0644);
	snprintf(path, sizeof(path), "/none:%s/bin", dir);
	snprintf(want, sizeof(want), "%s/bin/there", dir);
	check(path, "there", want, "a program is found in a directory of PATH");
	check(path, "here", NULL, "not where PATH does not lead, nor a directory of that name");
	check(path, "plain", NULL, "nor a file that is not executable");
	check(":/none", "here", "here", "an empty entry of PATH is the current directory");
	check("/none:", "here", "here", "also at its end");
	check("/none", "./here", "./here", "a name with a slash is a path");
	check("/none", "bin", NULL, "what is nowhere is not found");
	unlink("here");
	unlink("bin/there");
	unlink("bin/plain");
	rmdir("bin/here");
	rmdir("bin");
	return chdir("/") || rmdir(dir) ? 1 : tap_done();
}
