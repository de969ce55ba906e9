/* SPDX-License-Identifier: BSD-2-Clause */
/* file: reads and writes are whole whatever the kernel gives at a time, and end where they must. */
#include "base/file.h"
#include "base/regular.h"
#include "base/worker.h"

#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[] = "/tmp/ebtrace-test-file-XXXXXX";

static void fill(size_t n)
{
	char *bytes = malloc(n + 1);
	int fd = open(path, O_WRONLY | O_TRUNC);
	for (size_t i = 0; i < n; i++)
		bytes[i] = (char)('a' + i % 26);
	is(file_write(fd, bytes, n), 0, "a file is written");
	free(bytes);
	close(fd);
}

static bool is_filled(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != (char)('a' + i % 26))
			return false;
	return true;
}

static void test_load(void)
{
	/* Around the sizes at which it reads on, and around the limit. */
	static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 8191, 8192, 8193, 99999, 100000};
	char *data;
	size_t len;
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		fill(sizes[i]);
		int err = file_load(path, 100000, &data, &len);
		ok(!err && len == sizes[i] && is_filled(data, len) && !data[len],
		   "a file of %zu bytes is loaded, a NUL behind it", sizes[i]);
		free(err ? NULL : data);
	}
	fill(100001);
	is(file_load(path, 100000, &data, &len), -EFBIG, "a byte more than the limit is too many");
	fill(1);
	is(file_load(path, 0, &data, &len), -EFBIG, "also where the limit is 0");
	is(file_load("/tmp/ebtrace-no-such-file", 10, &data, &len), -ENOENT, "there may be none");
	is(file_load("/tmp", 10, &data, &len), -EISDIR, "or it is none");
}

static void test_text(void)
{
	char text[8] = "before";
	fill(26);
	is(file_read_text(path, text, sizeof(text)), 7, "a string takes what it has room for");
	is_str(text, "abcdefg", "and ends");
	is(file_read_text("/tmp/ebtrace-no-such-file", text, sizeof(text)), -ENOENT,
	   "without a file it is an error");
	is_str(text, "", "and empty");
	int fd = open(path, O_RDONLY);
	memset(text, 'x', sizeof(text));
	is(file_read_at(fd, text, 4, 24), 2, "at an offset: fewer bytes at the end of the file");
	ok(!memcmp(text, "yzxx", 4), "and no more are written");
	is(file_read(fd, text, 3), 3, "the descriptor's own offset has not moved");
	ok(!memcmp(text, "abc", 3), "it reads from the start");
	close(fd);
	is(file_read_at(fd, text, 1, 0), -EBADF, "a closed descriptor is an error");
	is(file_read(fd, text, 1), -EBADF, "in each way");
}

/* Has more lines than any read() of it returns, and no size. */
static void test_proc(void)
{
	char *data;
	size_t len, page = (size_t)sysconf(_SC_PAGESIZE), areas = 400;
	for (size_t i = 0; i < areas; i++) {
		/* Every other one of another protection, so that none are merged. */
		if (mmap(NULL, page, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			 0) == MAP_FAILED)
			abort();
	}
	int fd = open("/proc/self/maps", O_RDONLY);
	char once[65536];
	ssize_t n = read(fd, once, sizeof(once));
	close(fd);
	is(file_load("/proc/self/maps", 1 << 20, &data, &len), 0, "a file of /proc is loaded");
	size_t lines = 0;
	for (const char *p = data; (p = strchr(p, '\n')); p++)
		lines++;
	ok(n > 0 && (size_t)n < len && lines >= areas,
	   "all of it, though one read() returns a part");
	free(data);
}

static int fds[2];
#define STREAM (1 << 20)

static void on_signal(int sig)
{
	(void)sig;
}

/* Writes in small pieces, and interrupts the reader between them. */
static void *feed(void *reader)
{
	char piece[1000];
	for (size_t sent = 0; sent < STREAM;) {
		size_t n = STREAM - sent < sizeof(piece) ? STREAM - sent : sizeof(piece);
		for (size_t i = 0; i < n; i++)
			piece[i] = (char)('a' + (sent + i) % 26);
		if (write(fds[1], piece, n) != (ssize_t)n)
			abort();
		sent += n;
		pthread_kill(*(pthread_t *)reader, SIGUSR1);
	}
	close(fds[1]);
	return NULL;
}

static void *drain(void *writer)
{
	char *got = malloc(STREAM + 1);
	size_t len = 0;
	ssize_t n;
	while (len < STREAM && (n = read(fds[0], got + len, 777)) > 0) {
		len += (size_t)n;
		pthread_kill(*(pthread_t *)writer, SIGUSR1);
	}
	bool good = len == STREAM && is_filled(got, len);
	free(got);
	return (void *)(uintptr_t)good;
}

/* A pipe of which the end that is tested may be non-blocking; the other thread's is not. */
static void open_pipe(int tested, int flags)
{
	if (pipe2(fds, O_CLOEXEC) || fcntl(fds[tested], F_SETFL, flags))
		abort();
}

static void test_pipe(int flags, const char *what)
{
	pthread_t self = pthread_self(), other;
	void *good = NULL;
	char *bytes = malloc(STREAM + 100);
	open_pipe(0, flags);
	if (!bytes || pthread_create(&other, NULL, feed, &self))
		abort();
	ssize_t n = file_read(fds[0], bytes, STREAM + 100);
	ok(n == STREAM && is_filled(bytes, STREAM), "a %s in pieces and interrupted is read whole",
	   what);
	pthread_join(other, NULL);
	close(fds[0]);
	open_pipe(1, flags);
	if (pthread_create(&other, NULL, drain, &self))
		abort();
	is(file_write(fds[1], bytes, STREAM), 0, "and written whole");
	pthread_join(other, &good);
	ok(good, "every byte arrives, in order");
	close(fds[0]);
	signal(SIGPIPE, SIG_IGN);
	is(file_write(fds[1], bytes, 1), -EPIPE, "nobody reads: an error");
	close(fds[1]);
	free(bytes);
}

static void test_full(void)
{
	int fd = open("/dev/full", O_WRONLY);
	is(file_write(fd, "x", 1), -ENOSPC, "a full disk is an error");
	is(file_write(fd, "x", 0), 0, "unless there is nothing to write");
	close(fd);
}

/* A child that holds a lease on the file until its input ends, and ignores that it is broken. */
static pid_t hold_lease(int *ret_in)
{
	int in[2], out[2];
	char ready;
	if (pipe(in) || pipe(out))
		abort();
	pid_t pid = fork();
	if (!pid) {
		close(in[1]);
		int fd = open(path, O_RDONLY);
		signal(SIGIO, SIG_IGN);
		if (fd < 0 || fcntl(fd, F_SETLEASE, F_WRLCK) || write(out[1], "r", 1) != 1)
			_exit(1);
		_exit(read(in[0], &ready, 1) != 0);
	}
	close(in[0]);
	close(out[1]);
	*ret_in = in[1];
	is(read(out[0], &ready, 1), 1, "another program holds a lease on a file");
	close(out[0]);
	return pid;
}

static void test_open(void)
{
	char fifo[64], *data;
	size_t len;
	int in, status;
	pid_t holder = hold_lease(&in);
	is(file_open(AT_FDCWD, path, 0), -EBUSY, "a leased file is not waited for");
	is(file_load(path, 10, &data, &len), -EBUSY, "nor is it where it is to be loaded");
	ok(!strcmp(file_strerror(-EBUSY), "another program holds a lease on it") &&
		   !strcmp(file_strerror(-ENOENT), strerror(ENOENT)),
	   "the cause has a text");
	close(in);
	ok(waitpid(holder, &status, 0) == holder && !status, "the holder ends");
	int fd = file_open(AT_FDCWD, path, 0);
	ok(fd >= 0, "then the file can be opened");
	close(fd);
	snprintf(fifo, sizeof(fifo), "%s.fifo", path);
	ok(!mkfifo(fifo, 0600) && (fd = file_open(AT_FDCWD, fifo, 0)) >= 0,
	   "a FIFO without a writer is not waited for");
	close(fd);
	unlink(fifo);
	is(file_open(AT_FDCWD, "/tmp/ebtrace-no-such-file", 0), -ENOENT, "there may be no file");
}

/* A file that was replaced since its number was read is not the one that is meant. */
static void test_regular(void)
{
	struct stat st;
	if (stat(path, &st))
		abort();
	int fd = regular_open(path, st.st_ino, 0);
	ok(fd >= 0, "a regular file is opened by its path and its number");
	close(fd);
	is(regular_open(path, st.st_ino + 1, 0), -ESTALE, "not if it has another number");
	fd = regular_open(path, 0, 0);
	ok(fd >= 0, "any number will do where none is known");
	close(fd);
	is(regular_open("/dev/null", 0, 0), -EINVAL, "a device is none");
}

/* In a child: limits are for good. */
static void test_worker_limit(void)
{
	int status = -1;
	pid_t pid = fork();
	if (!pid) {
		struct rlimit low = {100, 100}, got;
		if (setrlimit(RLIMIT_CPU, &low) || setgid(65534) || setuid(65534))
			_exit(2);
		bool good = worker_limit(RLIMIT_CPU, 200) && !getrlimit(RLIMIT_CPU, &got) &&
			    got.rlim_cur == 100 && got.rlim_max == 100;
		good = good && worker_limit(RLIMIT_CPU, 50) && !getrlimit(RLIMIT_CPU, &got) &&
		       got.rlim_cur == 50 && got.rlim_max == 50;
		_exit(!good);
	}
	ok(waitpid(pid, &status, 0) == pid && (!status || WEXITSTATUS(status) == 2),
	   "a worker's limit is the lower one of what it is to be and what it was");
}

static ino_t inode_of(int fd)
{
	struct stat st;
	return fstat(fd, &st) ? 0 : st.st_ino;
}

/* Each descriptor that is kept has the number that another one is to have. */
static void test_worker_descriptors(void)
{
	int status = -1;
	pid_t pid = fork();
	if (!pid) {
		enum { FIRST = 20, END = 24 };
		static const char *const paths[] = {"/dev/null", "/dev/zero", "/dev/full"};
		int kept[END], beyond = fcntl(0, F_DUPFD, END + 5);
		for (int i = 0; i < 3; i++)
			dup2(open(paths[i], O_RDONLY), FIRST + i);
		ino_t null = inode_of(FIRST), zero = inode_of(FIRST + 1),
		      full = inode_of(FIRST + 2);
		kept[FIRST] = FIRST + 2;
		kept[FIRST + 1] = FIRST;
		kept[FIRST + 2] = FIRST + 1;
		kept[FIRST + 3] = -1;
		if (!null || !zero || !full || beyond < 0)
			_exit(2);
		bool good = worker_keep_descriptors(kept, FIRST, END) && inode_of(FIRST) == full &&
			    inode_of(FIRST + 1) == null && inode_of(FIRST + 2) == zero;
		_exit(!good || inode_of(beyond) || fcntl(END, F_GETFD) >= 0);
	}
	ok(waitpid(pid, &status, 0) == pid && !status,
	   "a worker's descriptors get their numbers, whatever numbers they had, and no other "
	   "stays");
}

static void test_spare(void)
{
	struct rlimit had, limit;
	int fd = open(path, O_RDONLY);
	getrlimit(RLIMIT_NOFILE, &had);
	limit = had;
	limit.rlim_cur = (rlim_t)fd + 1 + FILE_SPARE;
	ok(!setrlimit(RLIMIT_NOFILE, &limit) && !file_is_last(fd),
	   "behind a descriptor there are as many as are spared");
	limit.rlim_cur--;
	ok(!setrlimit(RLIMIT_NOFILE, &limit) && file_is_last(fd), "or one less");
	setrlimit(RLIMIT_NOFILE, &had);
	close(fd);
}

int main(void)
{
	mallopt(M_PERTURB, 0x5a); /* what nobody wrote is not 0 */
	/* Without SA_RESTART: calls return EINTR. */
	sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_signal}, NULL);
	int fd = mkstemp(path);
	if (fd < 0)
		abort();
	close(fd);
	test_load();
	test_text();
	test_proc();
	test_pipe(0, "pipe");
	test_pipe(O_NONBLOCK, "pipe that does not block");
	test_full();
	test_open();
	test_spare();
	test_regular();
	test_worker_limit();
	test_worker_descriptors();
	unlink(path);
	return tap_done();
}
