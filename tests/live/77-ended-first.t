#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A process of -p that ends before it could be traced: status 5 and a line, whatever ebtrace was about to read of it. What
# ends it stands between ebtrace and /proc: it kills the process just before the Nth file of its directory is opened.
. tests/lib.sh
need_root
need_command cc
[ -e /sys/kernel/tracing/trace ] || mount -t tracefs none /sys/kernel/tracing || skip_all "tracefs cannot be mounted"

cat >"$TMP/end.c" <<'END_C'
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* In all processes of ebtrace: $END_COUNT has the opens so far. At the $END_AT-th, $END_PID is killed. With
 * $END_GONE its parent waits for it, too. */
static void opens(const char *path)
{
	static unsigned *count;
	char dir[32];
	const char *pid = getenv("END_PID");
	snprintf(dir, sizeof(dir), "/proc/%s/", pid ? pid : "-");
	if (!path || strncmp(path, dir, strlen(dir)))
		return;
	if (!count) {
		static int (*real)(const char *, int, ...);
		real = dlsym(RTLD_NEXT, "open");
		int fd = real(getenv("END_COUNT"), O_RDWR);
		count = mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
	}
	if (__atomic_add_fetch(count, 1, __ATOMIC_SEQ_CST) != (unsigned)atoi(getenv("END_AT")))
		return;
	kill(atoi(pid), SIGKILL);
	for (int i = 0; i < 60000; i++, usleep(1000)) {
		char text[512] = "";
		static FILE *(*real)(const char *, const char *);
		real = dlsym(RTLD_NEXT, "fopen");
		snprintf(text, sizeof(text), "/proc/%s/stat", pid);
		FILE *f = real(text, "re");
		if (!f)
			return;
		fgets(text, sizeof(text), f);
		fclose(f);
		if (!getenv("END_GONE") && strstr(text, ") Z "))
			return;
	}
}
#define WITH_MODE(name, before, ...)                                     \
	int name before                                                  \
	{                                                                \
		static int (*real) before;                               \
		va_list ap;                                              \
		va_start(ap, flags);                                     \
		int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, int) : 0; \
		va_end(ap);                                              \
		opens(path);                                             \
		if (!real)                                               \
			real = dlsym(RTLD_NEXT, #name);                  \
		return real(__VA_ARGS__, flags, mode);                   \
	}
WITH_MODE(open, (const char *path, int flags, ...), path)
WITH_MODE(open64, (const char *path, int flags, ...), path)
WITH_MODE(openat, (int dir, const char *path, int flags, ...), dir, path)
WITH_MODE(openat64, (int dir, const char *path, int flags, ...), dir, path)
#define ONE(type, name, before, ...)                    \
	type name before                                \
	{                                               \
		static type(*real) before;              \
		opens(path);                            \
		if (!real)                              \
			real = dlsym(RTLD_NEXT, #name); \
		return real(__VA_ARGS__);               \
	}
ONE(FILE *, fopen, (const char *path, const char *mode), path, mode)
ONE(FILE *, fopen64, (const char *path, const char *mode), path, mode)
ONE(DIR *, opendir, (const char *path), path)
ONE(ssize_t, readlink, (const char *path, char *ret, size_t n), path, ret, n)
END_C
cc -shared -fPIC -O1 -o "$TMP/end.so" "$TMP/end.c" -ldl 2>"$TMP/log"
ok $? "what ends processes is compiled" || diag "$(cat "$TMP/log")"

# target: sets PID to a new one, whose parent waits for it, or with ZOMBIE=1 does not.
target() {
	# shellcheck disable=SC2016
	sh -c '"$0" -q -t 1 -s 600 -r 1000 -c /dev/null & echo $! >"$1.new"; mv "$1.new" "$1"; $2' \
		"$O/tests/prog/minigc" "$TMP/pid" "$([ -n "$ZOMBIE" ] && echo exec sleep 600 || echo wait)" 2>/dev/null &
	PARENT=$!
	wait_for test -s "$TMP/pid"
	PID=$(<"$TMP/pid")
	rm "$TMP/pid"
	children+=($PARENT $PID)
	wait_for grep -q minigc "/proc/$PID/comm"
	[ -z "$EBTRACE_START" ] || wait_for grep -q "/$PID.events" "/proc/$PID/maps"
}

# ends_at N ARGS...: `ebtrace ARGS -p PID`, whose process ends at the Nth open. Sets STATUS and OPENS.
ends_at() {
	local at=$1
	shift
	target
	head -c 4 /dev/zero >"$TMP/count"
	[ -n "$ZOMBIE" ] || export END_GONE=1
	END_PID=$PID END_AT=$at END_COUNT=$TMP/count LD_PRELOAD=$TMP/end.so \
		ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS:-} \
		timeout 120 "$O/ebtrace" "$@" -p $PID >"$TMP/out" 2>"$TMP/err" </dev/null
	STATUS=$?
	unset END_GONE
	OPENS=$(od -An -tu4 "$TMP/count" | tr -d ' ')
	kill -KILL $PID 2>/dev/null
	[ -z "$ZOMBIE" ] || kill $PARENT
}

# always ARGS...: at the first opens, then at each EVERY-th, until some were too late to matter: the process was
# traced, or it has ended.
EVERY=${EVERY:-3}
always() {
	local at=1 wrong= gone=0 traced=0
	while [ $traced -lt 3 ]; do
		ends_at $at "$@"
		[ "$OPENS" -lt $at ] && break
		# Before Linux 6.10 the price of a link a probe is said first.
		case "$STATUS $(grep -v 'has no usable uprobe_multi links' "$TMP/err")" in
		"5 ebtrace: process $PID ended before it could be traced") gone=$((gone + 1)) ;;
		"5 ebtrace: no process $PID; "* | "5 ebtrace: process $PID (minigc) is a zombie: "*) ;;
		"0 "*) traced=$((traced + 1)) ;;
		*) wrong+="open $at: status $STATUS: $(<"$TMP/err")"$'\n' ;;
		esac
		at=$((at < 6 ? at + 1 : at + EVERY))
	done
	is "$wrong" "" "$* -p PID: a process that ends at any moment of the attaching${ZOMBIE:+, a zombie then,} is gone, or was traced"
	[ $gone -gt 0 ]
	ok $? "there were $gone such moments"
}
always -d 1s -o /dev/null
ZOMBIE=1 always -d 1s -o /dev/null
for mode in stream probes ring; do
	always --mode $mode -d 1s -o /dev/null
done
EBTRACE_START=1 EBTRACE_DIR=$TMP always --mode ring -d 1s -o /dev/null
EBTRACE_START=1 EBTRACE_DIR=$TMP always -d 1s -o /dev/null
always stat -d 1s
always stat --blame -d 1s
always mem -d 1s
ZOMBIE=1 always mem -d 1s
always pages -d 1s
always -o /dev/null --snapshot
always info
always trace --wait -d 1s -o /dev/null
done_testing
