/* SPDX-License-Identifier: BSD-2-Clause */
#include <dlfcn.h>
#include <errno.h>
#include <sys/file.h>
#include <sys/wait.h>

#include <ebtrace/probes.h>
#include <ebtrace/ring.h>

#include "tests/tap.h"
#include "tests/unit/ringdump.h"

/* Runs ebt_start() in a process of its own under these settings; returns -errno as it does. */
static int start_with(const char *dir, const char *runtime_dir)
{
	int status;
	pid_t pid = fork();
	if (!pid) {
		if (dir)
			setenv("EBTRACE_DIR", dir, 1);
		else
			unsetenv("EBTRACE_DIR");
		if (runtime_dir)
			setenv("XDG_RUNTIME_DIR", runtime_dir, 1);
		execl("/proc/self/exe", "start-only", (char *)NULL);
		_exit(127);
	}
	return waitpid(pid, &status, 0) == pid ? -WEXITSTATUS(status) : -1;
}

static void test_directories(const char *dir)
{
	char link[256], runtime[256], private[300];
	snprintf(link, sizeof(link), "%s/link", dir);
	is(symlink("/tmp", link), 0, "a link to a directory is made");
	is(start_with(link, NULL), -ENOTDIR, "a directory behind a symbolic link is refused");
	is(start_with("/nowhere", NULL), -ENOENT, "a directory that is not there is an error");
	is(unlink(link), 0, "the link is removed");

	snprintf(runtime, sizeof(runtime), "%s/run", dir);
	snprintf(private, sizeof(private), "%s/ebtrace", runtime);
	is(mkdir(runtime, 0700), 0, "a runtime directory is made");
	is(start_with(NULL, runtime), 0, "the default is $XDG_RUNTIME_DIR/ebtrace");
	struct stat st;
	ok(!stat(private, &st) && (st.st_mode & 0777) == 0700, "made with mode 0700");
	is(rmdir(private), 0, "and empty again at the end");
	is(rmdir(runtime), 0, "the runtime directory is removed");
}

static struct ebt_ring_ext ext_of(const char *path)
{
	struct dump d;
	struct ebt_ring_ext ext = {.first_domain = UINT64_MAX};
	if (dump_open(&d, path)) {
		memcpy(&ext, dump_ext(&d), sizeof(ext));
		dump_close(&d);
	}
	return ext;
}

static void test_file(const char *dir)
{
	char stale[256], second[256];
	snprintf(stale, sizeof(stale), "%s/%d.events", dir, getpid());
	snprintf(second, sizeof(second), "%s/%d-2.events", dir, getpid());
	int fd = open(stale, O_WRONLY | O_CREAT, 0644);
	ok(fd >= 0 && write(fd, "old", 3) == 3 && !close(fd), "a stale file has our name");
	umask(0);
	is(ebt_start(), 0, "recording starts");
	is_str(ebt_ring_path(), stale, "under the name that the stale file had");
	struct stat st;
	ok(!stat(stale, &st) && (st.st_mode & 07777) == 0600 && st.st_size > 1000,
	   "in a new file of mode 0600");

	char lib[512];
	const char *out = getenv("O");
	snprintf(lib, sizeof(lib), "%s/libebtrace-probes.so", out ? out : "build");
	void *copy = dlopen(lib, RTLD_NOW | RTLD_LOCAL);
	if (ok(copy != NULL, "a second copy of the library is loaded")) {
		int (*start)(void) = (int (*)(void))dlsym(copy, "ebt_start");
		const char *(*path)(void) = (const char *(*)(void))dlsym(copy, "ebt_ring_path");
		is(start(), 0, "it starts too");
		is_str(path(), second, "under a name that is free");
		ok(!ext_of(stale).first_domain && ext_of(second).first_domain == 128,
		   "its domains have the numbers behind the first one's");
		ok(!stat(stale, &st), "and leaves the first one's file alone");
		dlclose(copy);
		ok(stat(second, &st) < 0, "closing it removes its file");
	}
	is(unlink(stale), 0, "somebody replaces the file");
	fd = open(stale, O_WRONLY | O_CREAT, 0600);
	ok(fd >= 0 && !flock(fd, LOCK_EX), "by one that is not ours, and in use");
	is(ebt_stop(), 0, "recording stops");
	is(ebt_start(), 0, "and starts again");
	ok(!strcmp(ebt_ring_path(), second) && !ext_of(second).first_domain,
	   "under the next name, with the first domains: another process has the other file");
	is(ebt_stop(), 0, "and stops");
	close(fd);
	is(unlink(stale), 0, "and the file that is not ours is still there");
}

/* Root is needed, and in CI root is there. Returns true if the test can be made. */
static int have_root(void)
{
	if (geteuid())
		ok(!getenv("EBT_NO_SKIP"), "without root the full disk is not tried");
	return !geteuid();
}

/* Runs this program's part in a file system of its own, of this size. */
static int run_in_small(const char *part, const char *size)
{
	static const char command[] =
		"mkdir $EBTRACE_DIR/$RINGDUMP_PART && exec unshare -m sh -c '"
		"export EBTRACE_DIR=$EBTRACE_DIR/$RINGDUMP_PART && "
		"mount -t tmpfs -o size=$RINGDUMP_SIZE none $EBTRACE_DIR && exec $RINGDUMP_SELF'";
	char self[64];
	snprintf(self, sizeof(self), "/proc/%d/exe", getpid());
	setenv("RINGDUMP_SELF", self, 1);
	setenv("RINGDUMP_SIZE", size, 1);
	setenv("RINGDUMP_PART", part, 1);
	int status = system(command);
	unsetenv("RINGDUMP_PART");
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The file itself takes some 10 pages, then there is no room for a ring of 512 KiB. */
static void test_full(void)
{
	if (!have_root())
		return;
	is(run_in_small("full", "300k"), 0,
	   "on a full file system the program lives, and its events are counted as without a ring");
	is(run_in_small("tiny", "16k"), 0,
	   "where not even the file has room, starting is -ENOSPC and nothing is left behind");
}

static void test_foreign(const char *dir)
{
	if (!have_root())
		return;
	char runtime[256], theirs[300];
	snprintf(runtime, sizeof(runtime), "%s/foreign", dir);
	snprintf(theirs, sizeof(theirs), "%s/ebtrace", runtime);
	ok(!mkdir(runtime, 0755) && !mkdir(theirs, 0700) && !chown(theirs, 65534, 65534),
	   "the runtime directory holds one of somebody else's");
	setenv("RINGDUMP_PART", "where", 1);
	is(start_with(NULL, runtime), 0, "then recording starts elsewhere");
	is(rmdir(theirs), 0, "and nothing is written there");
	ok(!mkdir(theirs, 0700) && !chmod(theirs, 0777), "one that is ours, but open to all");
	is(start_with(NULL, runtime), 0, "is not used either");
	is(rmdir(theirs), 0, "and stays empty");
	unsetenv("RINGDUMP_PART");
}

/* A ring of 2^16 words: the limit is that of a payload, not half the ring. */
static void test_largest(void)
{
	static struct dump_event ev[64];
	static unsigned char bytes[EBT_CUSTOM_MAX_BYTES + 1];
	struct dump d;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 11 + 3);
	int id = ebt_register("largest", EBT_USER_CUSTOM);
	is(ebt_start(), 0, "recording starts with rings of the usual size");
	if (!ok(dump_open(&d, ebt_ring_path()), "the file can be read"))
		return;
	int bad = 0;
	for (size_t len = EBT_CUSTOM_MAX_BYTES - 20; len <= EBT_CUSTOM_MAX_BYTES; len++) {
		ebt_custom(id, bytes, len);
		int n = dump_ring(&d, 0, ev, 64);
		const struct dump_event *e = &ev[n > 0 ? n - 1 : 0];
		size_t all = (e->words - 2) * 8;
		const unsigned char *p = (const unsigned char *)e->payload;
		bad += n < 2 || all - 1 - p[all - 1] != len || memcmp(p, bytes, len) != 0;
	}
	is(bad, 0, "payloads up to 8167 bytes come back whole");
	is(ev[dump_ring(&d, 0, ev, 64) - 1].words, 1023, "the largest has 1023 words");
	uint64_t events = dump_field(&d, 0, 2), dropped = dump_field(&d, 0, 3);
	ebt_custom(id, bytes, EBT_CUSTOM_MAX_BYTES + 1);
	is(dump_field(&d, 0, 2), events, "one of 8168 bytes is not written");
	is(dump_field(&d, 0, 3), dropped + 1, "but counted");
	ebt_stop();
}

/* What the kernel does when a tracer attaches to ring_request and goes. */
static int ask(uint16_t listeners)
{
	int fd = open("/proc/self/mem", O_WRONLY | O_CLOEXEC);
	ssize_t wrote =
		pwrite(fd, &listeners, sizeof(listeners), (off_t)(uintptr_t)&ebt_gate.ring_request);
	close(fd);
	return wrote == sizeof(listeners);
}

static void test_request(void)
{
	static struct dump_event ev[8];
	struct dump d;
	ebt_begin(EBT_PHASE_minor);
	ok(!ebt_ring_path() && !ebt_enabled(), "while nobody asks there is no ring");
	ok(ask(1), "a tracer asks for the ring");
	ok(ebt_enabled() && !ebt_ring_path(), "the probes are told, the file is not made yet");
	/* after a stop they wait a second before they look again */
	for (int i = 0; i < 6000 && !ebt_ring_path(); i++) {
		usleep(10000);
		ebt_begin(EBT_PHASE_minor);
	}
	if (ok(dump_open(&d, ebt_ring_path()), "a probe starts the ring")) {
		int n = dump_ring(&d, 0, ev, 8);
		ok(n == 2 && ev[0].id == 0 && ev[1].type == 2 && ev[1].id == 11,
		   "and is its first event after ring_start");
	}
	ok(ask(0), "the tracer goes");
	is(ebt_stop(), 0, "recording stops");
	ok(!ebt_enabled(), "and nobody listens");
}

/* The parts that run as programs of their own; 0 is good. */
static int run_part(const char *name)
{
	int custom = ebt_register("custom", EBT_USER_CUSTOM);
	int err = ebt_start();
	if (!strcmp(name, "where"))
		return err ? -err : strstr(ebt_ring_path(), "/foreign/") ? 1 : 0;
	if (!strcmp(name, "tiny"))
		return err != -ENOSPC || ebt_enabled() || rmdir(getenv("EBTRACE_DIR")) != -1 ||
		       errno != EBUSY;
	if (strcmp(name, "full"))
		return -err;
	for (int i = 0; i < 1000; i++)
		ebt_begin(EBT_PHASE_minor);
	ebt_custom(custom, name, EBT_CUSTOM_MAX_BYTES + 1);
	return err ? 1 : ext_of(ebt_ring_path()).no_ring_events != 1001;
}

int main(int argc, char **argv)
{
	(void)argc;
	const char *part = getenv("RINGDUMP_PART");
	if (part || !strcmp(argv[0], "start-only"))
		return run_part(part ? part : argv[0]);
	dump_rerun(argv, (const char *[]){NULL});
	const char *dir = getenv("EBTRACE_DIR");
	test_directories(dir);
	test_file(dir);
	test_foreign(dir);
	test_full();
	test_largest();
	test_request();
	dump_clean();
	return tap_done();
}
