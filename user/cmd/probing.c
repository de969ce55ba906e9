/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/probing.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "cmd/commands.h"
#include "cmd/open.h"
#include "source/ring.h"

/* An OCaml program of ours switches its ring on at its start: only if not, it is probed. */
#define OCAML_START_NS 150000000ull

int probing_new(const struct opts *o, bool record, struct session *session, struct inspect *inspect,
		void (*changed)(void *ctx, pid_t pid, enum bpf_change change), void *ctx,
		struct source **ret, char *ret_missing)
{
	*ret = NULL;
	if (o->mode == MODE_RING)
		return 0;
	struct bpf_options bo = {
		.ring_bytes = o->bpf_buffer_bytes,
		.slack_ns = RING_SLACK_NS,
		.attach = o->attach == ATTACH_MULTI  ? BPF_ATTACH_MULTI
			  : o->attach == ATTACH_PERF ? BPF_ATTACH_PERF
						     : BPF_ATTACH_AUTO,
		.no_follow = !o->follow,
		.inspect = inspect,
		.hold = o->program != NULL,
		.watermark_only = opts_watermarks(o),
		.no_ring_request = o->mode == MODE_PROBES || o->ring_request == RING_REQUEST_NEVER,
		.ring_request_always = o->ring_request == RING_REQUEST_ALWAYS,
		.no_ring = o->mode == MODE_PROBES,
		.ocaml_after_ns = record ? OCAML_START_NS : 0,
		.release = o->release,
		.changed = changed,
		.ctx = ctx,
	};
	char reason[EBT_REASON_BYTES] = "";
	struct source *made;
	int err = bpf_source_new(session, &bo, &made, reason);
	if (!err) {
		*ret = made;
		return 0;
	}
	if (o->mode != MODE_AUTO) {
		complain("--mode %s: %s", opts_mode_name(o->mode), reason);
		return err == -EPERM || err == -EACCES ? EXIT_DENIED : EXIT_ERROR;
	}
	memcpy(ret_missing, reason, sizeof(reason));
	return 0;
}

/* An OCaml program whose ring is on has no probes, for anybody. */
static bool has_markers(const struct session *session)
{
	const struct process *p = NULL;
	while ((p = processes_next(&session->processes, p)))
		if (*p->producer && strncmp(p->producer, "ocaml", 5))
			return true;
	return false;
}

void probing_tell_missing(const struct opts *o, const struct session *session, char *missing)
{
	if (!*missing || !has_markers(session))
		return;
	log_at(o->counts ? LOG_VERBOSE : LOG_NORMAL,
	       "%s; reading the rings alone, without thread and CPU", missing);
	*missing = 0;
}
