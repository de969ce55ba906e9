/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/versions.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/ring/ids.h"
#include "session/languages.h"

static struct runtime_version nth(const struct language *l, unsigned i)
{
	return (struct runtime_version){&l->traits, l->version[i].major, l->version[i].minor};
}

/* Its index in the table of the language; `versions`: it is not there. */
static unsigned index_of(const struct language *l, struct runtime_version v)
{
	unsigned i = 0;
	while (i < l->versions &&
	       (l->version[i].major != v.major || l->version[i].minor != v.minor))
		i++;
	return i;
}

const struct language *versions_language(struct runtime_version v)
{
	for (const struct language *const *l = languages; *l; l++)
		if (&(*l)->traits == v.language)
			return *l;
	return NULL;
}

struct runtime_version versions_by_release(uint32_t release)
{
	for (const struct language *const *l = languages; *l; l++)
		if ((*l)->release && release - (*l)->release < (*l)->versions)
			return nth(*l, release - (*l)->release);
	return (struct runtime_version){0};
}

uint32_t versions_release(struct runtime_version v)
{
	const struct language *l = versions_language(v);
	unsigned i = l ? index_of(l, v) : 0;
	return l && l->release && i < l->versions ? l->release + i : 0;
}

struct runtime_version versions_parse(const struct language *l, const char *text)
{
	struct runtime_version none = {0};
	if (!l->versions)
		return none;
	const struct language_version *last = &l->version[l->versions - 1];
	char *end;
	if (!last->major && !last->minor)
		return nth(l, 0);
	if (!isdigit((unsigned char)*text))
		return none;
	unsigned long major = strtoul(text, &end, 10);
	if (*end != '.' || !isdigit((unsigned char)end[1]))
		return none;
	unsigned long minor = strtoul(end + 1, &end, 10);
	/* "5.1", "5.1.1", "5.2.0~beta1", "5.3.0+trunk", but not "5.1x" */
	if (*end && !strchr(".~+-", *end))
		return none;
	/* Later releases have only appended so far; the newest table is the best guess. */
	if (major == last->major && minor > last->minor)
		minor = last->minor;
	for (unsigned i = 0; i < l->versions; i++)
		if (l->version[i].major == major && l->version[i].minor == minor)
			return nth(l, i);
	return none;
}

struct runtime_version versions_parse_producer(const char *producer)
{
	for (const struct language *const *l = languages; *l; l++) {
		size_t len = strlen((*l)->traits.name);
		if (!strncmp(producer, (*l)->traits.name, len) && producer[len] == ' ')
			return versions_parse(*l, producer + len + 1);
	}
	return (struct runtime_version){0};
}

const char *versions_option(struct runtime_version v)
{
	const struct language *l = versions_language(v);
	return l && l->ring && l->ring->version_option ? l->ring->version_option : "";
}

struct version_text versions_text(struct runtime_version v)
{
	struct version_text ret;
	if (v.major || v.minor)
		snprintf(ret.text, sizeof(ret.text), "%s %u.%u", v.language->name, v.major,
			 v.minor);
	else
		snprintf(ret.text, sizeof(ret.text), "%s", v.language ? v.language->name : "auto");
	return ret;
}

struct traits versions_traits(struct runtime_version v)
{
	const struct language *l = versions_language(v);
	unsigned i = l ? index_of(l, v) : 0;
	if (!l || i >= l->versions)
		return (struct traits){0};
	struct traits t = {
		.runtime = v,
		.hides_user_events = l->version[i].hides_user_events,
		.nameless_rings = l->version[i].nameless_rings,
	};
	if (l->ring)
		t.raw_phase = ring_raw_phases((enum ebt_release)versions_release(v), &t.raw_phases);
	return t;
}
