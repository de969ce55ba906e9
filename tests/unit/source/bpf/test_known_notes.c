// SPDX-License-Identifier: BSD-2-Clause
/* Markers of a file are read once, as long as it stays the same file, and is not too long ago. */
#include "source/bpf/known_notes.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tap.h"

static char dir[] = "/tmp/ebt-known-notes-XXXXXX";

static int open_program(void)
{
	char path[256];
	const char *o = getenv("O");
	snprintf(path, sizeof(path), "%s/tests/prog/minigc", o ? o : "build");
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int copy_of(int program, unsigned number)
{
	char name[64];
	static char data[65536];
	snprintf(name, sizeof(name), "%s/%u", dir, number);
	int to = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	off_t at = 0;
	for (ssize_t n; (n = pread(program, data, sizeof(data), at)) > 0; at += n)
		if (write(to, data, (size_t)n) != n)
			return -1;
	unlink(name);
	return to;
}

static uint32_t count_ours(const struct known_file *f)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < f->notes.sites; i++)
		n += f->is_ours[i];
	return n;
}

static void test_same(struct known_notes *k, int program)
{
	const struct known_file *first, *again;
	struct notes notes;
	is(notes_read(program, NULL, &notes), 0, "a program has markers");
	is(known_notes_read(k, program, &first), 0, "they are read");
	is(first->notes.sites, notes.sites, "all of them");
	ok(count_ours(first) > 5 && count_ours(first) < notes.sites,
	   "and which are ours, with the arguments that we read");
	uint64_t uses = k->uses;
	int other = open_program(), null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	ok(!known_notes_read(k, other, &again) && again == first && k->uses == uses + 1,
	   "by another descriptor they are known");
	ok(known_notes_read(k, null, &again) < 0, "what is no program is refused");
	ok(!known_notes_read(k, program, &again) && again == first, "the others stay known");
	close(null);
	close(other);
	notes_done(&notes);
}

/* The names of a file that was read again lie elsewhere, as the old ones are still there. */
static void test_changed(struct known_notes *k, int program)
{
	const struct known_file *before, *after;
	int file = copy_of(program, 0);
	known_notes_read(k, file, &before);
	ok(write(file, "", 1) == 1 && !known_notes_read(k, file, &after) && after != before &&
		   after->notes.sites == before->notes.sites,
	   "a file that has changed is read again");
	/* In the same second, most often: its size stays. The kernel's clock of files is coarse. */
	struct stat had, has;
	char last = 1;
	fstat(file, &had);
	do {
		usleep(1000);
		if (pwrite(file, &last, 1, had.st_size - 1) != 1 || fstat(file, &has))
			abort();
	} while (has.st_ctim.tv_nsec == had.st_ctim.tv_nsec);
	ok(!known_notes_read(k, file, &before) && before != after && before->size == after->size,
	   "also by bytes that change nothing of its size");
	close(file);
}

static void test_many(struct known_notes *k, int program)
{
	const struct known_file *f;
	int file[KNOWN_NOTES + 1];
	for (unsigned i = 0; i <= KNOWN_NOTES; i++) {
		file[i] = copy_of(program, i + 1);
		if (known_notes_read(k, file[i], &f))
			exit(1);
	}
	const struct known_file *last = f;
	ok(!known_notes_read(k, file[KNOWN_NOTES], &f) && f == last,
	   "of many the newest are known");
	ok(!known_notes_read(k, file[0], &f) && count_ours(f) > 5, "the oldest is read again");
	for (unsigned i = 0; i <= KNOWN_NOTES; i++)
		close(file[i]);
}

int main(void)
{
	struct known_notes k = {0};
	int program = open_program();
	if (program < 0 || !mkdtemp(dir))
		return skip_all("needs tests/prog/minigc and a temporary directory");
	test_same(&k, program);
	test_changed(&k, program);
	test_many(&k, program);
	known_notes_done(&k);
	is(k.file[0].used, 0, "at the end nothing is");
	close(program);
	rmdir(dir);
	return tap_done();
}
