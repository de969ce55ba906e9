#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A program that ends just when its environment is to tell whose run it is of: what stands between ebtrace and /proc
# kills it before that file is opened. Its ring is read and removed as that of one that had ended before.
. tests/lib.sh
need_command cc
need_command jq

cat >"$TMP/end.c" <<'END_C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int (*real)(int, const char *, int, ...);

static int reads(const char *path, char *ret, size_t cap)
{
	int fd = real(AT_FDCWD, path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, ret, cap - 1);
	if (fd >= 0)
		close(fd);
	ret[n > 0 ? n : 0] = 0;
	return n > 0;
}

static void opens(const char *path)
{
	char stat[64], text[512];
	int pid, end = 0;
	real = real ? real : dlsym(RTLD_NEXT, "openat");
	if (sscanf(path, "/proc/%d/environ%n", &pid, &end) != 1 || !end || path[end])
		return;
	snprintf(stat, sizeof(stat), "/proc/%d/stat", pid);
	if (pid <= 1 || !reads(stat, text, sizeof(text)) || !strstr(text, "(minigc)"))
		return;
	dprintf(real(AT_FDCWD, getenv("END_SAID"), O_WRONLY | O_APPEND), "%d\n", pid);
	usleep(300000); /* in which it records something */
	kill(pid, SIGKILL);
	while (reads(stat, text, sizeof(text)) && !strstr(text, ") Z "))
		usleep(1000);
}

#define BOTH(name, before, ...)                                                \
	int name before                                                        \
	{                                                                      \
		va_list ap;                                                    \
		va_start(ap, flags);                                           \
		int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, int) : 0; \
		va_end(ap);                                                    \
		opens(path);                                                   \
		return real(__VA_ARGS__, path, flags, mode);                   \
	}
BOTH(open, (const char *path, int flags, ...), AT_FDCWD)
BOTH(open64, (const char *path, int flags, ...), AT_FDCWD)
BOTH(openat, (int dir, const char *path, int flags, ...), dir)
BOTH(openat64, (int dir, const char *path, int flags, ...), dir)
END_C
cc -shared -fPIC -O1 -o "$TMP/end.so" "$TMP/end.c" -ldl 2>"$TMP/log"
ok $? "what ends it is compiled" || diag "$(cat "$TMP/log")"

mkdir "$TMP/rings"
: >"$TMP/said"
# It is nobody's child that is traced, so that it is found by its file alone.
# shellcheck disable=SC2016
END_SAID=$TMP/said LD_PRELOAD=$TMP/end.so EBTRACE_DIR=$TMP/rings "$O/ebtrace" --mode ring -f ndjson -o "$TMP/t" -- env -u LD_PRELOAD sh -c '
	("$1" -q -t 1 -n 1000000 -r 100 -c /dev/null & echo $! >"$2")
	while [ -d "/proc/$(cat "$2")" ] && ! grep -q "^State:.Z" "/proc/$(cat "$2")/status"; do sleep 0.05; done' \
	sh "$O/tests/prog/minigc" "$TMP/pid" 2>"$TMP/err"
status=$?
pid=$(<"$TMP/pid")
is "$status $(sort -u "$TMP/said")" "0 $pid" "it is killed when its environment is opened" || diag "$(cat "$TMP/err")"
[ "$(jq -c "select(.pid == $pid and .kind == \"begin\")" "$TMP/t" | wc -l)" -gt 0 ]
ok $? "what it did until then is in the trace" || diag "$(cat "$TMP/err")"
is "$(ls "$TMP/rings")" "" "and its ring is removed"
done_testing
