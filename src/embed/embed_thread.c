/* SPDX-License-Identifier: Apache-2.0 */
/* embed_thread - maps the state of a thread, and reuses it after the thread has ended. */
#include "embed/embed_thread.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "embed/counts.h"

_Static_assert(sizeof(struct gg_embed_thread) <= 160 * 1024, "docs/EMBEDDING.md says so");

static __thread struct gg_embed_thread *own __attribute__((tls_model("initial-exec")));

/*
 * The list of states without a thread.  take_free() takes the whole list and puts all but one back.
 * If it took only the first one, it would read next_free of a state that another thread may take
 * and put back meanwhile: the exchange would succeed with an outdated link (the ABA problem).
 */
static struct gg_embed_thread *free_threads;

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t ending_key;
static bool has_ending_key;

static void put_back(struct gg_embed_thread *first, struct gg_embed_thread *last)
{
	struct gg_embed_thread *head = gg_load_relaxed(&free_threads);

	do
		last->next_free = head;
	while (!gg_cas_acq_rel(&free_threads, &head,
	                       first)); /* releases the links and the states */
}

static struct gg_embed_thread *take_free(void)
{
	struct gg_embed_thread *first = gg_exchange_acq_rel(&free_threads, NULL), *last;

	if (first == NULL || first->next_free == NULL)
		return first;
	for (last = first->next_free; last->next_free != NULL;)
		last = last->next_free;
	put_back(first->next_free, last);
	return first;
}

/*
 * Makes a state as good as new.  The large arrays keep their content, because each is written
 * before it is read; the frames in `frame_cache` stay valid for the next thread.
 */
static void clean(struct gg_embed_thread *t)
{
	t->next_free = NULL;
	t->inside = 0;
	t->sampler = (struct gg_sampler){ 0 };
	t->interval_bytes = 0;
	t->seen_change = t->fork_count = 0;
	t->unwind = (struct gg_unwind_thread){ .stack_cache = &t->stack_cache };
	t->stack_cache.count = 0;
	t->stack_cache.tag = 0;
	t->stack_cache.is_latest = false;
}

static void end_thread(void *value)
{
	/* If a later destructor allocates, the thread takes a state again and comes here again. */
	struct gg_embed_thread *t = value;

	own = NULL;
	geiger_left_bytes = 0;
	put_back(t, t);
}

static void make_key(void)
{
	has_ending_key = pthread_key_create(&ending_key, end_thread) == 0;
}

/* Maps a new state by the bare system call, because the agent may count mmap() for the program. */
static struct gg_embed_thread *map(void)
{
	long address = syscall(SYS_mmap, NULL, sizeof(struct gg_embed_thread),
	                       PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);

	return address == -1 ? NULL : (struct gg_embed_thread *)address;
}

static GG_COLD struct gg_embed_thread *begin(void)
{
	int saved_errno = errno;
	struct gg_embed_thread *t = take_free();

	if (t == NULL)
		t = map();
	if (t != NULL) {
		clean(t);
		own = t;
		pthread_once(&key_once, make_key);
		if (has_ending_key)
			pthread_setspecific(ending_key, t);
	}
	errno = saved_errno;
	return t;
}

struct gg_embed_thread *gg_embed_own_thread(void)
{
	return own;
}

struct gg_embed_thread *gg_embed_thread(void)
{
	return gg_likely(own != NULL) ? own : begin();
}

bool gg_embed_enter(struct gg_embed_thread *t)
{
	if (gg_load_relaxed(&t->inside) != 0) {
		gg_embed_count(GG_EMBED_NESTED);
		return false;
	}
	gg_store_relaxed(&t->inside, 1);
	/*
	 * A signal handler that reads 0 finds the state unchanged.  It runs on the same thread, so
	 * a fence of the compiler is enough.
	 */
	gg_fence_signal();
	return true;
}
