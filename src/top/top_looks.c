/* SPDX-License-Identifier: Apache-2.0 */
/* top_looks - the thread of looks, and what it shares with the screen. */
#include "top/top_looks.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/time_units.h"
#include "top/top_cost.h"

struct gg_top_looks {
	struct gg_top_source *source; /* of the thread */
	uint64_t delay_ns;
	int ready_fd;
	pthread_t thread;
	pthread_mutex_t mutex; /* guards the rest */
	pthread_cond_t changed;
	struct gg_top_view view; /* it owns `opened` */
	bool has_new_view, wants_mark, wants_stop;
	struct gg_top_snapshot *snapshot; /* that nobody took; or NULL */
	struct gg_error error;            /* of the last look */
	int status;
	char *write_path;               /* of a profile to be written; NULL: none */
	struct gg_region_change change; /* that was requested, with wants_change */
	bool wants_change;
	char answer[GG_TOP_MESSAGE_MAX]; /* to the last write or request; "": none */
};

static bool has_wish(const struct gg_top_looks *looks)
{
	return looks->has_new_view || looks->wants_mark || looks->write_path != NULL ||
	       looks->wants_change;
}

/* Waits until the moment, or until the looks stop.  With `hears_wishes`, a wish ends the wait. */
static void wait_until(struct gg_top_looks *looks, uint64_t until_ns, bool hears_wishes)
{
	const struct timespec until = { .tv_sec = (time_t)(until_ns / GG_NS_PER_S),
		                        .tv_nsec = (long)(until_ns % GG_NS_PER_S) };

	while (!looks->wants_stop && !(hears_wishes && has_wish(looks)))
		if (pthread_cond_timedwait(&looks->changed, &looks->mutex, &until) == ETIMEDOUT)
			break;
}

/* Waits for the time of the next look, or for a wish, but rests first.  The mutex is held. */
static void wait_for_look(struct gg_top_looks *looks, uint64_t end_ns, uint64_t rest_until_ns)
{
	wait_until(looks, rest_until_ns, false);
	wait_until(looks, end_ns + looks->delay_ns, true);
}

static void publish(struct gg_top_looks *looks, struct gg_top_snapshot *snapshot, int status,
                    const struct gg_error *error)
{
	const uint64_t one = 1;
	ssize_t written;

	if (status == 0) {
		gg_top_snapshot_free(looks->snapshot);
		looks->snapshot = snapshot;
	} else {
		looks->error = *error;
	}
	looks->status = status;
	written = write(looks->ready_fd, &one, sizeof(one));
	(void)written; /* it fails only if the counter is full, and then it is readable */
}

/* Writes the profile that somebody wished.  The mutex is held, but not while it writes. */
static void write_profile(struct gg_top_looks *looks)
{
	char *path = looks->write_path, answer[GG_TOP_MESSAGE_MAX];
	uint64_t sample_count = 0;
	struct gg_error error;
	int status;

	if (path == NULL)
		return;
	looks->write_path = NULL;
	pthread_mutex_unlock(&looks->mutex);
	status = gg_top_source_write(looks->source, path, &sample_count, &error);
	if (status < 0)
		snprintf(answer, sizeof(answer), "%s", error.message);
	else
		snprintf(answer, sizeof(answer), "Wrote %s with %" PRIu64 " live samples.", path,
		         sample_count);
	free(path);
	pthread_mutex_lock(&looks->mutex);
	memcpy(looks->answer, answer, sizeof(answer));
}

static void change_process(struct gg_top_looks *looks)
{
	struct gg_error error;

	if (!looks->wants_change)
		return;
	looks->wants_change = false;
	snprintf(looks->answer, sizeof(looks->answer), "%s",
	         gg_top_source_change(looks->source, &looks->change, &error) < 0
	                 ? error.message
	                 : "Each thread follows after 8 MiB of allocations at the latest.");
}

static const char *copy_text(const char *text)
{
	return text != NULL ? strdup(text) : NULL;
}

static void *run(void *context)
{
	struct gg_top_looks *looks = context;

	pthread_mutex_lock(&looks->mutex);
	while (!looks->wants_stop) {
		struct gg_top_view view = looks->view;
		struct gg_top_snapshot *snapshot = NULL;
		struct gg_top_cost cost = gg_top_cost_begin();
		uint64_t end_ns, rest_until_ns;
		struct gg_error error = { 0 };
		int status;

		if (looks->wants_mark)
			gg_top_source_mark(looks->source);
		view.opened = copy_text(view.opened); /* a new view frees the other one */
		looks->has_new_view = looks->wants_mark = false;
		pthread_mutex_unlock(&looks->mutex);
		status = gg_top_source_look(looks->source, &view, &snapshot, &error);
		end_ns = gg_clock_monotonic_ns();
		free((char *)view.opened);
		pthread_mutex_lock(&looks->mutex);
		rest_until_ns = gg_top_cost_end(&cost, looks->delay_ns, snapshot);
		change_process(looks);
		write_profile(looks);
		publish(looks, snapshot, status, &error);
		wait_for_look(looks, end_ns, rest_until_ns);
	}
	pthread_mutex_unlock(&looks->mutex);
	return NULL;
}

/*
 * Signals are for the thread of the screen.  A crash is the exception: a blocked signal of a crash
 * ends the process without its handler, which restores the terminal.
 */
static int start_thread(struct gg_top_looks *looks)
{
	static const int crashes[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
	sigset_t all, before;
	int status;

	sigfillset(&all);
	for (size_t i = 0; i < GG_COUNT(crashes); i++)
		sigdelset(&all, crashes[i]);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	status = pthread_create(&looks->thread, NULL, run, looks);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -status;
}

int gg_top_looks_start(struct gg_top_looks **ret_looks, struct gg_top_source *source,
                       const struct gg_top_view *view, double delay_seconds, struct gg_error *error)
{
	struct gg_top_looks *looks = calloc(1, sizeof(*looks));
	pthread_condattr_t attributes;
	int status;

	if (looks == NULL)
		return gg_error_memory(error, "top");
	looks->source = source;
	looks->view = *view;
	looks->view.opened = copy_text(view->opened);
	looks->delay_ns = (uint64_t)(delay_seconds * (double)GG_NS_PER_S);
	pthread_mutex_init(&looks->mutex, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&looks->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	looks->ready_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	status = looks->ready_fd < 0 ? -errno : start_thread(looks);
	if (status < 0) {
		if (looks->ready_fd >= 0)
			close(looks->ready_fd);
		free((char *)looks->view.opened);
		free(looks);
		return gg_error_set_errno(error, -status, "top", NULL);
	}
	*ret_looks = looks;
	return 0;
}

void gg_top_looks_stop(struct gg_top_looks *looks)
{
	if (looks == NULL)
		return;
	pthread_mutex_lock(&looks->mutex);
	looks->wants_stop = true;
	pthread_cond_signal(&looks->changed);
	pthread_mutex_unlock(&looks->mutex);
	pthread_join(looks->thread, NULL);
	gg_top_snapshot_free(looks->snapshot);
	gg_top_source_free(looks->source);
	free((char *)looks->view.opened);
	free(looks->write_path);
	pthread_cond_destroy(&looks->changed);
	pthread_mutex_destroy(&looks->mutex);
	close(looks->ready_fd);
	free(looks);
}

int gg_top_looks_fd(const struct gg_top_looks *looks)
{
	return looks->ready_fd;
}

bool gg_top_looks_take(struct gg_top_looks *looks, struct gg_top_snapshot **ret_snapshot,
                       struct gg_error *ret_error)
{
	struct gg_top_snapshot *snapshot;
	uint64_t count;
	ssize_t taken;

	pthread_mutex_lock(&looks->mutex);
	taken = read(looks->ready_fd, &count, sizeof(count));
	(void)taken; /* without a new look there is nothing to read */
	snapshot = looks->snapshot;
	looks->snapshot = NULL;
	if (looks->status < 0)
		*ret_error = looks->error;
	else
		*ret_error = (struct gg_error){ 0 };
	pthread_mutex_unlock(&looks->mutex);
	if (snapshot != NULL)
		*ret_snapshot = snapshot;
	return snapshot != NULL;
}

void gg_top_looks_set_view(struct gg_top_looks *looks, const struct gg_top_view *view)
{
	pthread_mutex_lock(&looks->mutex);
	free((char *)looks->view.opened);
	looks->view = *view;
	looks->view.opened = copy_text(view->opened);
	looks->has_new_view = true;
	pthread_cond_signal(&looks->changed);
	pthread_mutex_unlock(&looks->mutex);
}

void gg_top_looks_mark(struct gg_top_looks *looks)
{
	pthread_mutex_lock(&looks->mutex);
	looks->wants_mark = true;
	pthread_cond_signal(&looks->changed);
	pthread_mutex_unlock(&looks->mutex);
}

void gg_top_looks_set_delay(struct gg_top_looks *looks, double delay_seconds)
{
	pthread_mutex_lock(&looks->mutex);
	looks->delay_ns = (uint64_t)(delay_seconds * (double)GG_NS_PER_S);
	looks->has_new_view = true;
	pthread_cond_signal(&looks->changed);
	pthread_mutex_unlock(&looks->mutex);
}

void gg_top_looks_write(struct gg_top_looks *looks, const char *path)
{
	char *copy = strdup(path);

	pthread_mutex_lock(&looks->mutex);
	free(looks->write_path);
	looks->write_path = copy;
	if (copy == NULL)
		snprintf(looks->answer, sizeof(looks->answer), "Out of memory.");
	pthread_cond_signal(&looks->changed);
	pthread_mutex_unlock(&looks->mutex);
}

void gg_top_looks_change(struct gg_top_looks *looks, const struct gg_region_change *change)
{
	pthread_mutex_lock(&looks->mutex);
	looks->change = *change;
	looks->wants_change = true;
	pthread_cond_signal(&looks->changed);
	pthread_mutex_unlock(&looks->mutex);
}

bool gg_top_looks_take_answer(struct gg_top_looks *looks, char answer[GG_TOP_MESSAGE_MAX])
{
	bool has;

	pthread_mutex_lock(&looks->mutex);
	has = looks->answer[0] != '\0';
	if (has)
		memcpy(answer, looks->answer, sizeof(looks->answer));
	looks->answer[0] = '\0';
	pthread_mutex_unlock(&looks->mutex);
	return has;
}
