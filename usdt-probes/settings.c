/* SPDX-License-Identifier: BSD-2-Clause */
#include "settings.h"

#include <stdlib.h>
#include <string.h>

const char *ebt_setting(const char *name, const char *synonym)
{
	const char *value = secure_getenv(name);
	if ((!value || !*value) && synonym)
		value = secure_getenv(synonym);
	return value && *value ? value : NULL;
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
