/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Maps a ring file whose header is written later, field by field, as OCaml does it:
 * late_header FILE DIR. It maps a copy of FILE as DIR/PID.events with nothing of its header but the
 * version, prints its pid, completes the header on SIGUSR1, and ends when its input does.
 */
#include <ebtrace/ring.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile sig_atomic_t complete;

static void on_signal(int sig)
{
	(void)sig;
	complete = 1;
}

int main(int argc, char **argv)
{
	char path[256], word[1];
	struct stat st;
	int in = argc == 3 ? open(argv[1], O_RDONLY) : -1;
	if (in < 0 || fstat(in, &st))
		return 2;
	size_t size = (size_t)st.st_size;
	snprintf(path, sizeof(path), "%s/%d.events", argv[2], (int)getpid());
	int out = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (out < 0 || ftruncate(out, st.st_size))
		return 1;
	const char *from = mmap(NULL, size, PROT_READ, MAP_PRIVATE, in, 0);
	char *to = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, out, 0);
	if (from == MAP_FAILED || to == MAP_FAILED)
		return 1;
	size_t head = sizeof(struct ebt_ring_file);
	memcpy(to + head, from + head, size - head);
	memcpy(to, from, sizeof(uint64_t));
	signal(SIGUSR1, on_signal);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	while (!complete) {
		futimens(out, NULL); /* it is new */
		usleep(20000);
	}
	memcpy(to, from, head);
	while (read(STDIN_FILENO, word, 1) > 0)
		;
	unlink(path);
	return 0;
}
