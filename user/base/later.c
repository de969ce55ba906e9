/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/later.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#define MAX_THREADS 16

struct task {
	void (*fn)(void *arg);
	void *arg;
	struct task *next;
};

struct later {
	pthread_mutex_t lock; /* over all that follows but the threads */
	pthread_cond_t more;
	struct task *first, **last;
	unsigned idle;
	bool ending;
	pthread_t thread[MAX_THREADS];
	unsigned threads;
};

int later_new(struct later **ret)
{
	struct later *l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->more, NULL);
	l->last = &l->first;
	*ret = l;
	return 0;
}

static void *run(void *arg)
{
	struct later *l = arg;
	pthread_mutex_lock(&l->lock);
	for (;;) {
		l->idle++;
		while (!l->first && !l->ending)
			pthread_cond_wait(&l->more, &l->lock);
		l->idle--;
		struct task *t = l->first;
		if (!t)
			break;
		l->first = t->next;
		if (!l->first)
			l->last = &l->first;
		pthread_mutex_unlock(&l->lock);
		t->fn(t->arg);
		free(t);
		pthread_mutex_lock(&l->lock);
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

/* True if there is a thread that will take what waits, if not at once. */
static bool add_thread(struct later *l)
{
	if (l->threads == MAX_THREADS)
		return true;
	/* Signals are the main thread's business. */
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	l->threads += !pthread_create(&l->thread[l->threads], NULL, run, l);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return l->threads != 0;
}

void later_do(struct later *l, void (*fn)(void *arg), void *arg)
{
	pthread_mutex_lock(&l->lock);
	bool busy = !l->idle || l->first;
	pthread_mutex_unlock(&l->lock);
	struct task *t = !busy || add_thread(l) ? malloc(sizeof(*t)) : NULL;
	if (!t) {
		fn(arg);
		return;
	}
	*t = (struct task){.fn = fn, .arg = arg};
	pthread_mutex_lock(&l->lock);
	*l->last = t;
	l->last = &t->next;
	pthread_cond_signal(&l->more);
	pthread_mutex_unlock(&l->lock);
}

void later_free(struct later *l)
{
	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	l->ending = true;
	pthread_cond_broadcast(&l->more);
	pthread_mutex_unlock(&l->lock);
	for (unsigned i = 0; i < l->threads; i++)
		pthread_join(l->thread[i], NULL);
	pthread_cond_destroy(&l->more);
	pthread_mutex_destroy(&l->lock);
	free(l);
}
