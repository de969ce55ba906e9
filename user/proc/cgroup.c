/* SPDX-License-Identifier: BSD-2-Clause */
#include "proc/cgroup.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "proc/process.h"

#define CONTENT_BYTES 8192
#define ID_BYTES      64 /* of a container, in hexadecimal */
#define ID_SHOWN      12

/* One name of a path: [text, text + len). */
struct part {
	const char *text;
	size_t len;
};

static bool has_suffix(struct part p, const char *suffix)
{
	size_t n = strlen(suffix);
	return p.len > n && !memcmp(p.text + p.len - n, suffix, n);
}

static bool is_id(const char *text, size_t len)
{
	size_t n = 0;
	while (n < len && isxdigit((unsigned char)text[n]))
		n++;
	return n == ID_BYTES && n == len;
}

/* Of one name of the path; "": it names no container. */
static void put_container(struct part p, const char *above, char ret[CGROUP_NAME_BYTES])
{
	static const struct {
		const char *begin, *end, *engine;
		bool has_id; /* else a name follows */
	} forms[] = {
		{"docker-", ".scope", "docker", true},
		{"libpod-", ".scope", "podman", true},
		{"cri-containerd-", ".scope", "containerd", true},
		{"crio-", ".scope", "crio", true},
		{"machine-", ".scope", "machine", false},
		{"lxc.payload.", "", "lxc", false},
	};
	*ret = 0;
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		size_t begin = strlen(forms[i].begin), end = strlen(forms[i].end);
		if (p.len <= begin + end || memcmp(p.text, forms[i].begin, begin) ||
		    memcmp(p.text + p.len - end, forms[i].end, end))
			continue;
		const char *name = p.text + begin;
		size_t len = p.len - begin - end;
		if (forms[i].has_id && !is_id(name, len))
			continue;
		snprintf(ret, CGROUP_NAME_BYTES, "%s:%.*s", forms[i].engine,
			 forms[i].has_id ? ID_SHOWN : (int)len, name);
		return;
	}
	/* "/docker/ID", and below the pods of Kubernetes: without systemd. */
	if (is_id(p.text, p.len))
		snprintf(ret, CGROUP_NAME_BYTES, "%s:%.*s", above, ID_SHOWN, p.text);
}

static bool is_unit(struct part p)
{
	return has_suffix(p, ".service") || has_suffix(p, ".scope") || has_suffix(p, ".socket") ||
	       has_suffix(p, ".mount") || has_suffix(p, ".swap");
}

static void put_unit(struct part p, char ret[CGROUP_NAME_BYTES])
{
	snprintf(ret, CGROUP_NAME_BYTES, "%.*s", (int)p.len, p.text);
}

/* The innermost container and the innermost unit; without a unit, the innermost slice. */
static void parse_path(const char *path, struct cgroup_names *ret)
{
	char above[16] = "container";
	bool has_unit = false;
	size_t len = strcspn(path, "\n");
	for (const char *end = path + len; path < end;) {
		path += *path == '/';
		struct part p = {path, strcspn(path, "/\n")};
		char container[CGROUP_NAME_BYTES];
		put_container(p, above, container);
		if (*container)
			memcpy(ret->container, container, sizeof(ret->container));
		bool unit = is_unit(p);
		if (unit || (!has_unit && has_suffix(p, ".slice")))
			put_unit(p, ret->unit);
		has_unit |= unit;
		if (p.len == strlen("docker") && !memcmp(p.text, "docker", p.len))
			strcpy(above, "docker");
		path += p.len;
	}
}

void cgroup_parse(const char *content, struct cgroup_names *ret)
{
	const char *best = NULL;
	*ret = (struct cgroup_names){0};
	for (const char *line = content; *line;
	     line += strcspn(line, "\n"), line += *line == '\n') {
		const char *colon = memchr(line, ':', strcspn(line, "\n"));
		const char *path = colon ? memchr(colon + 1, ':', strcspn(colon + 1, "\n")) : NULL;
		if (!path)
			continue;
		bool is_unified = path == colon + 1 && *line == '0';
		bool is_systemd = !strncmp(colon + 1, "name=systemd:", 13);
		/* A machine of both hierarchies has its groups in systemd's. */
		if (!best || is_systemd || (is_unified && path[1] == '/' && path[2] != '\n'))
			best = path + 1;
	}
	if (best)
		parse_path(best, ret);
}

bool cgroup_read(pid_t pid, struct cgroup_names *ret)
{
	char content[CONTENT_BYTES];
	*ret = (struct cgroup_names){0};
	if (process_read_text(pid, "cgroup", content, sizeof(content)) <= 0)
		return false;
	cgroup_parse(content, ret);
	return true;
}
