// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf_markers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/abi.h"
#include "proc/notes.h"
#include "source/bpf_targets.h"

struct marker {
	const char *name;
	uint16_t site;
	bool event;
};

static const struct marker markers[] = {
#define EBT_MARKER(name, KIND, args) {#name, KIND, true},
#include <ebtrace/events.def>
	{"ring_request", EBT_SITE_RING_REQUEST, false},
	{"ring_start", EBT_SITE_RING_START, false},
	{"ring_stop", EBT_SITE_RING_STOP, false},
	{"watermark", EBT_SITE_WATERMARK, false},
};

/*
 * A ring that is asked for makes the program open files, for which a seccomp filter may kill it.
 * Without a ring all its events come through the markers.
 */
static const struct marker *wanted_marker(const struct bpf_targets *t, bool filtered,
					  const char *name)
{
	bool spare = filtered && !t->ring_request_always;
	for (size_t i = 0; i < sizeof(markers) / sizeof(*markers); i++) {
		const struct marker *m = &markers[i];
		if (strcmp(m->name, name))
			continue;
		if (m->event && t->watermark_only && !spare)
			return NULL;
		if (m->site == EBT_SITE_RING_REQUEST && (t->no_ring_request || spare))
			return NULL;
		return m;
	}
	return NULL;
}

int bpf_markers_read(const struct bpf_targets *t, uint32_t slot, bool filtered, int fd,
		     struct uprobe_site **ret)
{
	struct notes notes;
	int err = notes_read(fd, "ebtrace", &notes);
	if (err)
		return err;
	struct uprobe_site *site = calloc(notes.sites + 1u, sizeof(*site));
	int n = 0;
	for (uint32_t i = 0; site && i < notes.sites; i++) {
		const struct notes_site *from = &notes.site[i];
		const struct marker *m = wanted_marker(t, filtered, from->name);
		if (m)
			site[n++] = (struct uprobe_site){
				.offset = from->offset,
				.semaphore = from->semaphore,
				.cookie = EBT_COOKIE(slot, m->site),
			};
	}
	notes_done(&notes);
	*ret = site;
	return site ? n : -ENOMEM;
}
