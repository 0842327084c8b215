/* SPDX-License-Identifier: Apache-2.0 */
/* listeners - slots with a count of changes, read without a lock. */
#include "embed/listeners.h"

#include <errno.h>
#include <pthread.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "embed/embed_thread.h"
#include "embed/sampling_settings.h"

static struct listener {
	uint32_t change_count; /* odd during a change */
	geiger_listener *call; /* NULL: this slot is free */
	void *user;
} listeners[GG_EMBED_LISTENERS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/*
 * In a forked child: the thread that held the lock may exist in the parent alone.  It may have been
 * in the middle of a change; then nobody completes that change here, and the slot becomes free.
 */
static void forked(void)
{
	uint32_t count = 0;

	for (size_t i = 0; i < GG_EMBED_LISTENERS; i++) {
		if (listeners[i].change_count % 2 != 0) {
			listeners[i].call = NULL;
			listeners[i].change_count++;
		}
		count += listeners[i].call != NULL;
	}
	gg_store_relaxed(&gg_embed_settings.listener_count, count);
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static void set(struct listener *listener, geiger_listener *call, void *user)
{
	uint32_t count = gg_load_relaxed(&listener->change_count);

	gg_assert(count % 2 == 0); /* the lock admits one change at a time */
	/*
	 * Pairs with the acquires of gg_embed_listeners_call(): a reader that sees one of the two
	 * stores sees the odd count.
	 */
	gg_store_relaxed(&listener->change_count, count + 1);
	gg_fence_release();
	gg_store_relaxed(&listener->call, call);
	gg_store_relaxed(&listener->user, user);
	gg_store_release(&listener->change_count, count + 2);
	gg_add_relaxed(&gg_embed_settings.listener_count, call != NULL ? 1u : -1u);
	/* Release: a sampler that sees the count sees the number of listeners. */
	gg_add_release(&gg_embed_settings.change_count, 1);
}

/* Finds the slot of that listener; for NULL, a free slot. */
static struct listener *find(geiger_listener *call, const void *user)
{
	for (size_t i = 0; i < GG_EMBED_LISTENERS; i++)
		if (listeners[i].call == call && (call == NULL || listeners[i].user == user))
			return &listeners[i];
	return NULL;
}

int geiger_add_listener(geiger_listener *call, void *user)
{
	struct listener *listener;

	if (call == NULL)
		return -EINVAL;
	pthread_mutex_lock(&lock);
	gg_embed_settings.listeners_forked = forked;
	listener = find(NULL, NULL);
	if (listener != NULL)
		set(listener, call, user);
	pthread_mutex_unlock(&lock);
	gg_embed_settings_apply_now();
	return listener != NULL ? 0 : -ENOSPC;
}

int geiger_remove_listener(geiger_listener *call, void *user)
{
	struct listener *listener = NULL;

	pthread_mutex_lock(&lock);
	if (call != NULL)
		listener = find(call, user);
	if (listener != NULL)
		set(listener, NULL, NULL);
	pthread_mutex_unlock(&lock);
	return listener != NULL ? 0 : -ENOENT;
}

void gg_embed_listeners_call(const struct geiger_event *event)
{
	for (size_t i = 0; i < GG_EMBED_LISTENERS; i++) {
		struct listener *listener = &listeners[i];
		uint32_t count = gg_load_acquire(&listener->change_count);
		geiger_listener *call = gg_load_relaxed(&listener->call);
		void *user = gg_load_relaxed(&listener->user);

		gg_fence_acquire();
		if (call != NULL && count % 2 == 0 &&
		    count == gg_load_relaxed(&listener->change_count))
			call(user, event);
	}
}
