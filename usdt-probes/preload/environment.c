/* SPDX-License-Identifier: BSD-2-Clause */
#include "environment.h"

#include <ebtrace/recorder.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../shared/file_id.h"
#include "filters.h"

/* Identifies the calling process by its pid, start time and pid namespace: a pid alone may also be
 * that of a process in another namespace. */

struct ebt_identity {
	uint32_t pid;
	uint64_t start;	     /* field 22 of /proc/PID/stat */
	uint64_t name_space; /* the inode of that of pids */
};

#define STAT_BYTES  1024
#define START_FIELD 22

/* Behind the name, which may have any character, field 3 begins. */
static bool parse_start(const char *text, uint64_t *ret)
{
	const char *p = strrchr(text, ')');
	for (unsigned field = 2; p && field < START_FIELD; field++)
		p = strchr(p + 1, ' ');
	if (!p)
		return false;
	*ret = strtoull(p + 1, NULL, 10);
	return true;
}

/* False: /proc does not have it. */
static bool ebt_identity_read(struct ebt_identity *ret)
{
	char text[STAT_BYTES];
	struct stat st;
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	if (!parse_start(text, &ret->start) || stat("/proc/self/ns/pid", &st))
		return false;
	ret->name_space = st.st_ino;
	ret->pid = (uint32_t)getpid();
	return true;
}

#define PRELOAD	    "LD_PRELOAD="
#define VARIABLE    EBT_RECORDER_VARIABLE "="
#define MORE_BYTES  128 /* of a variable, beside paths */
#define ENTRIES_MAX 65536

extern char **environ;

/* As they are handed on; empty: there is nothing to record. */
static char preload[sizeof(PRELOAD) + PATH_MAX];
static char for_itself[PATH_MAX + MORE_BYTES], for_child[PATH_MAX + MORE_BYTES];
static char dir[PATH_MAX];
static bool is_usable; /* there is something to hand on */
static struct ebt_file_id library_id, dir_id;
static uid_t owner;

static char **find(char *const *envp, const char *name)
{
	size_t bytes = strlen(name);
	for (char *const *e = envp; e && *e; e++)
		if (!strncmp(*e, name, bytes))
			return (char **)e;
	return NULL;
}

static void remove_entry(char **e)
{
	do
		e[0] = e[1];
	while (*e++);
}

/* The rest of a field, behind its colon; NULL: it is not one. */
static const char *fraction(const char *p, double *ret)
{
	char *end;
	if (!p)
		return NULL;
	*ret = strtod(p, &end);
	return end > p && *end == ':' ? end + 1 : NULL;
}

static const char *number(const char *p, unsigned long long *ret)
{
	char *end;
	if (!p)
		return NULL;
	*ret = strtoull(p, &end, 10);
	return end > p && *end == ':' ? end + 1 : NULL;
}

/* Of this process as it is now, and of one that it starts. */
static void write_variables(const struct ebt_identity *own, const struct ebt_environment *env)
{
	unsigned flags = env->children ? EBT_RECORDER_CHILDREN : 0;
	unsigned own_flags = flags | (env->is_child ? EBT_RECORDER_IS_CHILD : 0);
	snprintf(for_itself, sizeof(for_itself), VARIABLE "%u:%llu:%llu:%u:%.9g:%u:%s", own->pid,
		 (unsigned long long)own->start, (unsigned long long)own->name_space, env->filters,
		 env->rate, own_flags, dir);
	snprintf(for_child, sizeof(for_child), VARIABLE "0:0:0:%u:%.9g:%u:%s", env->filters,
		 env->rate, flags | EBT_RECORDER_IS_CHILD, dir);
}

/* False: it is for another process. */
static bool parse(const char *p, struct ebt_environment *ret)
{
	unsigned long long pid, start, name_space, filters, flags;
	struct ebt_identity own;
	p = number(number(number(number(p, &pid), &start), &name_space), &filters);
	p = number(fraction(p, &ret->rate), &flags);
	/* Under filters that ebtrace is not under, nothing further may be asked for. */
	if (!p || !(ret->rate > 0) || strlen(p) >= sizeof(dir) || ebt_filters_read() > filters ||
	    !ebt_identity_read(&own) ||
	    (pid && (pid != own.pid || start != own.start || name_space != own.name_space)))
		return false;
	ret->filters = (unsigned)filters;
	ret->children = flags & EBT_RECORDER_CHILDREN;
	ret->is_child = flags & EBT_RECORDER_IS_CHILD;
	ret->start = own.start;
	strcpy(dir, p);
	write_variables(&own, ret);
	return true;
}

/* The user's own list is what it was; "" was one, too. */
static void restore_preload(char **e)
{
	char *list = *e + strlen(PRELOAD), *colon = strchr(list, ':');
	size_t bytes = colon ? (size_t)(colon - list) : strlen(list);
	if (bytes >= PATH_MAX)
		return;
	memcpy(preload, *e, strlen(PRELOAD) + bytes);
	if (!colon) {
		memset(*e, 0, strlen(PRELOAD) + bytes);
		remove_entry(e);
		return;
	}
	size_t rest = strlen(colon + 1);
	memmove(list, colon + 1, rest);
	memset(list + rest, 0, bytes + 1);
}

static bool set_file(const char *path, struct ebt_file_id *ret)
{
	struct stat st;
	if (stat(path, &st))
		return false;
	*ret = ebt_file_id_of(&st);
	owner = st.st_uid;
	return true;
}

/* Their text goes, too: programs read it in /proc. */
static void take_from(char **envp, struct ebt_environment *ret)
{
	char **e = find(envp, VARIABLE);
	if (!e)
		return;
	char *text = *e;
	remove_entry(e);
	bool is_ours = parse(text + strlen(VARIABLE), ret);
	memset(text, 0, strlen(text));
	e = find(envp, PRELOAD);
	if (e)
		restore_preload(e);
	if (!is_ours || !*preload || !set_file(preload + strlen(PRELOAD), &library_id) ||
	    !set_file(dir, &dir_id))
		return;
	ret->dir = dir;
	is_usable = true;
}

void ebt_environment_take(char **envp, struct ebt_environment *ret)
{
	*ret = (struct ebt_environment){0};
	take_from(envp, ret);
	/* Another library may have changed it before. */
	if (environ && environ != envp && !ret->dir)
		take_from(environ, ret);
}

bool ebt_environment_fork(struct ebt_environment *env)
{
	struct ebt_identity own;
	if (!is_usable || !ebt_identity_read(&own))
		return false;
	env->start = own.start;
	env->is_child = true;
	write_variables(&own, env);
	return true;
}

bool ebt_environment_is_usable(void)
{
	struct stat st;
	int fd = is_usable ? open(preload + strlen(PRELOAD), O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return false;
	bool same = ebt_file_id_has(&library_id, fd);
	close(fd);
	return same && (!geteuid() || geteuid() == owner) && !stat(dir, &st) &&
	       ebt_file_id_is(&dir_id, &st);
}

static size_t count(char *const envp[])
{
	size_t n = 0;
	while (envp && envp[n])
		n++;
	return n;
}

size_t ebt_environment_bytes(char *const envp[])
{
	size_t entries = count(envp);
	char **user = find(envp, PRELOAD);
	if (entries > ENTRIES_MAX)
		return 0;
	return (entries + 3) * sizeof(*envp) +
	       (user ? strlen(preload) + strlen(*user) + sizeof(":") : 0);
}

char **ebt_environment_make(void *memory, char *const envp[], bool is_child)
{
	size_t entries = count(envp);
	char **ret = memory, **user = find(envp, PRELOAD);
	char *text = (char *)(ret + entries + 3);
	for (size_t i = 0; i < entries; i++)
		ret[i] = envp[i];
	if (user) {
		ret[user - envp] = text;
		stpcpy(stpcpy(stpcpy(text, preload), ":"), *user + strlen(PRELOAD));
	} else {
		ret[entries++] = preload;
	}
	ret[entries++] = is_child ? for_child : for_itself;
	ret[entries] = NULL;
	return ret;
}
