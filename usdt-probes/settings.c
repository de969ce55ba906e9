/* SPDX-License-Identifier: BSD-2-Clause */
#include "settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define READER_WAITS	100 /* for the reader of a FIFO: each so long */
#define READER_WAIT_NS	100000000
#define READER_SILENCES 5 /* of these, before a line says so */
#define LINE_BYTES	1024

const char *ebt_setting(const char *name, const char *synonym)
{
	const char *value = secure_getenv(name);
	if ((!value || !*value) && synonym)
		value = secure_getenv(synonym);
	return value && *value ? value : NULL;
}

void ebt_setting_error(const char *name, const char *value, const char *text)
{
	char line[LINE_BYTES];
	int n = snprintf(line, sizeof(line) - 1, "ebtrace: %s='%.700s': %s", name, value, text);
	if (n < 0)
		return;
	size_t bytes = (size_t)n < sizeof(line) - 2 ? (size_t)n : sizeof(line) - 2;
	for (size_t i = 0; i < bytes; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?';
	line[bytes++] = '\n';
	(void)!write(STDERR_FILENO, line, bytes);
}

static bool is_fifo(const char *path)
{
	struct stat st;
	return !stat(path, &st) && S_ISFIFO(st.st_mode);
}

static const char *start_error(const char *path, int err)
{
	if (err == -EAGAIN)
		return "another process writes this file";
	if (err == -EINVAL)
		return "neither a file nor a FIFO, a pipe or a device that is no terminal";
	if (err == -ELOOP)
		return "a symbolic link; name the file itself";
	if (err == -ENXIO && is_fifo(path))
		return "no process reads this FIFO";
	return strerror(-err);
}

/* Whoever starts the program and the reader of its FIFO may start the program first. */
static int start_waiting(const char *name, const char *path, int (*start)(const char *path))
{
	int err = start(path);
	for (int i = 0; err == -ENXIO && i < READER_WAITS && is_fifo(path); i++) {
		if (i == READER_SILENCES)
			ebt_setting_error(name, path,
					  "waiting up to 10 s for a reader of this FIFO");
		nanosleep(&(struct timespec){.tv_nsec = READER_WAIT_NS}, NULL);
		err = start(path);
	}
	return err;
}

int ebt_setting_start(const char *name, int (*start)(const char *path))
{
	char text[LINE_BYTES];
	const char *path = ebt_setting(name, NULL);
	int err = path ? start_waiting(name, path, start) : 0;
	if (err) {
		snprintf(text, sizeof(text), "%s; no trace is written", start_error(path, err));
		ebt_setting_error(name, path, text);
	}
	if (path)
		unsetenv(name);
	return err;
}

static uint32_t number(const char *name, uint32_t preset, uint32_t low, uint32_t high)
{
	const char *value = ebt_setting(name, NULL);
	char *end;
	if (!value)
		return preset;
	long n = strtol(value, &end, 10);
	if (end == value || *end)
		return preset;
	return n < (long)low ? low : n > (long)high ? high : (uint32_t)n;
}

void ebt_settings_read(struct ebt_config *config)
{
	config->log_words =
		number("EBTRACE_LOG_WSIZE", 16, EBT_RING_MIN_LOG_WORDS, EBT_RING_MAX_LOG_WORDS);
	config->max_domains = number("EBTRACE_MAX_DOMAINS", 128, 1, EBT_RING_MAX_DOMAINS);
	config->preserve = ebt_setting("EBTRACE_PRESERVE", "OCAML_RUNTIME_EVENTS_PRESERVE");
	const char *dir = ebt_setting("EBTRACE_DIR", "OCAML_RUNTIME_EVENTS_DIR");
	if (dir)
		strncpy(config->dir, dir, sizeof(config->dir) - 1);
}
