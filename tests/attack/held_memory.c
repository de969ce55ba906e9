/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Has a file mapped, as code, that can never be read: a FUSE server of its own gives no answer.
 * Whoever reads the file, or these pages through /proc, waits for as long as the server runs:
 * held_memory DIR, an empty directory. With `lock`, or with `later` when it receives SIGUSR1, it is
 * itself read in this way and then waits for the lock of its address space, as all do from then on
 * that read its environment or its page tables: held_memory DIR lock. Ends with its input.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILE_NODE  2
#define FILE_BYTES 65536
#define PAGE_BYTES 4096

static struct fuse_attr attr_of(uint64_t node)
{
	bool is_file = node == FILE_NODE;
	return (struct fuse_attr){
		.ino = node,
		.size = is_file ? FILE_BYTES : 0,
		.mode = is_file ? S_IFREG | 0644 : S_IFDIR | 0755,
		.nlink = 1,
	};
}

static void reply(int fuse, const struct fuse_in_header *in, int err, const void *data, size_t n)
{
	char out[512];
	struct fuse_out_header head = {
		.len = (uint32_t)(sizeof(head) + n), .error = err, .unique = in->unique};
	memcpy(out, &head, sizeof(head));
	memcpy(out + sizeof(head), data, n);
	if (write(fuse, out, sizeof(head) + n) < 0 && errno != ENOENT)
		_exit(1);
}

static void answer(int fuse, const struct fuse_in_header *in)
{
	struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION,
				     .minor = 31,
				     .max_readahead = 0,
				     .max_write = PAGE_BYTES};
	struct fuse_entry_out entry = {
		.nodeid = FILE_NODE, .entry_valid = 3600, .attr_valid = 3600};
	struct fuse_attr_out attr = {.attr_valid = 3600, .attr = attr_of(in->nodeid)};
	struct fuse_open_out opened = {0};
	entry.attr = attr_of(FILE_NODE);
	switch (in->opcode) {
	case FUSE_INIT:
		reply(fuse, in, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		reply(fuse, in, 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
		reply(fuse, in, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		reply(fuse, in, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ: /* never */
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		reply(fuse, in, -ENOSYS, NULL, 0);
		break;
	}
}

static _Noreturn void serve(int fuse)
{
	static char request[1 << 17];
	while (read(fuse, request, sizeof(request)) > 0)
		answer(fuse, (const struct fuse_in_header *)request);
	_exit(0);
}

/* A child reads the pages, and has the lock of our address space for that time. */
static void start_reader(const void *map)
{
	char path[32], state;
	int begun[2];
	if (pipe(begun))
		_exit(1);
	pid_t parent = getpid(), reader = fork();
	if (!reader) {
		snprintf(path, sizeof(path), "/proc/%d/mem", (int)parent);
		int fd = open(path, O_RDONLY);
		_exit(write(begun[1], "b", 1) != 1 ||
		      pread(fd, &state, 1, (off_t)(uintptr_t)map) != 1);
	}
	if (read(begun[0], &state, 1) != 1)
		_exit(1);
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)reader);
	do {
		char text[512];
		usleep(10000);
		int fd = open(path, O_RDONLY);
		ssize_t n = read(fd, text, sizeof(text) - 1);
		close(fd);
		text[n > 0 ? n : 0] = 0;
		const char *end = strrchr(text, ')');
		state = end ? end[2] : 'X';
	} while (state == 'R');
}

int main(int argc, char **argv)
{
	char path[4096], options[64], byte;
	int fuse = open("/dev/fuse", O_RDWR), signo;
	bool later = argc == 3 && !strcmp(argv[2], "later");
	sigset_t start;
	sigemptyset(&start);
	sigaddset(&start, SIGUSR1);
	sigprocmask(SIG_BLOCK, &start, NULL);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
	if (argc < 2 || argc > 3 || fuse < 0 || mount("held", argv[1], "fuse.held", 0, options)) {
		perror("cannot mount");
		return 1;
	}
	pid_t server = fork();
	if (!server)
		serve(fuse);
	close(fuse);
	snprintf(path, sizeof(path), "%s/held", argv[1]);
	int fd = open(path, O_RDONLY);
	void *map = mmap(NULL, FILE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (fd < 0 || map == MAP_FAILED) {
		perror(path);
		return 1;
	}
	if (!fork()) {
		while (read(0, &byte, 1) > 0)
			;
		kill(server, SIGKILL);
		_exit(0);
	}
	if (argc == 3 && !later)
		start_reader(map);
	/* From here on nothing may need the lock. */
	if (write(1, "ready\n", 6) != 6)
		return 1;
	if (later && !sigwait(&start, &signo))
		start_reader(map);
	if (argc == 3)
		mmap(NULL, PAGE_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	while (wait(NULL) > 0)
		;
	umount2(argv[1], MNT_DETACH);
	return 0;
}
