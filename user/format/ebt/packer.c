/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/ebt/packer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

struct ebt_packer {
	struct capture_writer *writer[2];
	unsigned open; /* index of the writer with the open block */
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock; /* over all that follows */
	pthread_cond_t changed;
	bool packing, ending; /* packing: the other writer is the thread's */
	enum capture_block_type type;
	const void *bytes;
	ssize_t len; /* of the block that was packed; 0: none, or returned */
};

static void *run(void *arg)
{
	struct ebt_packer *p = arg;
	pthread_mutex_lock(&p->lock);
	for (;;) {
		while (!p->packing && !p->ending)
			pthread_cond_wait(&p->changed, &p->lock);
		if (!p->packing)
			break;
		struct capture_writer *w = p->writer[!p->open];
		pthread_mutex_unlock(&p->lock);
		const void *bytes = NULL;
		ssize_t len = capture_close_block(w, p->type, &bytes);
		pthread_mutex_lock(&p->lock);
		p->bytes = bytes;
		p->len = len;
		p->packing = false;
		pthread_cond_signal(&p->changed);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static int start_thread(struct ebt_packer *p)
{
	/* Signals are the main thread's. */
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int err = pthread_create(&p->thread, NULL, run, p);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	p->has_thread = !err;
	return -err;
}

int ebt_packer_new(int level, struct ebt_packer **ret)
{
	struct ebt_packer *p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	int err = capture_writer_new(level, &p->writer[0]);
	if (!err)
		err = capture_writer_new(level, &p->writer[1]);
	if (!err)
		err = start_thread(p);
	if (err) {
		ebt_packer_free(p);
		return err;
	}
	*ret = p;
	return 0;
}

void ebt_packer_free(struct ebt_packer *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->ending = true;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
	if (p->has_thread)
		pthread_join(p->thread, NULL);
	capture_writer_free(p->writer[0]);
	capture_writer_free(p->writer[1]);
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

struct capture_writer *ebt_packer_open(struct ebt_packer *p)
{
	return p->writer[p->open];
}

void ebt_packer_close(struct ebt_packer *p, enum capture_block_type type)
{
	pthread_mutex_lock(&p->lock);
	capture_follow(p->writer[!p->open], p->writer[p->open]);
	p->open = !p->open;
	p->type = type;
	p->packing = true;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

ssize_t ebt_packer_finish(struct ebt_packer *p, const void **ret_bytes)
{
	pthread_mutex_lock(&p->lock);
	while (p->packing)
		pthread_cond_wait(&p->changed, &p->lock);
	ssize_t len = p->len;
	*ret_bytes = p->bytes;
	p->len = 0;
	pthread_mutex_unlock(&p->lock);
	return len;
}
