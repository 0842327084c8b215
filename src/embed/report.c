/* SPDX-License-Identifier: Apache-2.0 */
#include "embed/report.h"

#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "embed/counts.h"
#include "embed/heap.h"
#include "embed/public.h"
#include "embed/settings.h"

__thread int64_t geiger_left_bytes __attribute__((tls_model("initial-exec")));

/* For compilers that cannot reach it from outside. */
GG_EXPORT int64_t *geiger_left_bytes_of_thread(void);

int64_t *geiger_left_bytes_of_thread(void)
{
	return &geiger_left_bytes;
}

const char *geiger_version(void)
{
	return GG_VERSION;
}

bool gg_embed_report(uint32_t heap, const void *object, size_t bytes, const char *type,
                     const struct gg_draw *draw)
{
	(void)object;
	(void)bytes;
	(void)type;
	(void)draw;
	return gg_embed_heap_of(heap) != NULL && false;
}

int geiger_start(const struct geiger_options *options)
{
	return options != NULL && options->interval_bytes > GG_EMBED_LONGEST_INTERVAL ? -EINVAL
	                                                                              : -ENOSYS;
}

void geiger_stop(void)
{
}

enum geiger_place geiger_recording_to(void)
{
	return GEIGER_TO_NOWHERE;
}

int geiger_set_interval(uint64_t interval_bytes)
{
	if (interval_bytes == 0 || interval_bytes > GG_EMBED_LONGEST_INTERVAL)
		return -EINVAL;
	gg_store_relaxed(&gg_embed_settings.interval_bytes, interval_bytes);
	gg_add_release(&gg_embed_settings.change_count, 1);
	return 0;
}

uint64_t geiger_interval(void)
{
	return gg_embed_interval();
}

int geiger_snapshot(const char *path)
{
	(void)path;
	return -ENOENT;
}

void geiger_allocated(uint32_t heap, const void *object, size_t bytes, const char *type)
{
	(void)heap;
	(void)object;
	(void)bytes;
	(void)type;
	geiger_left_bytes = INT64_MAX;
}

bool geiger_take(size_t bytes, struct geiger_sample *ret_sample)
{
	(void)bytes;
	(void)ret_sample;
	geiger_left_bytes = INT64_MAX;
	return false;
}

void geiger_put_back(size_t bytes)
{
	(void)bytes;
	geiger_left_bytes = INT64_MAX;
}

bool geiger_record(uint32_t heap, const struct geiger_sample *sample)
{
	(void)heap;
	(void)sample;
	return false;
}

void geiger_thread_interval(uint64_t interval_bytes)
{
	(void)interval_bytes;
}

void geiger_freed(uint32_t heap, const void *object)
{
	(void)heap;
	(void)object;
}

void geiger_moved(uint32_t heap, const void *from, const void *to)
{
	(void)heap;
	(void)from;
	(void)to;
}

void geiger_promoted(uint32_t heap, const void *object)
{
	(void)heap;
	(void)object;
}

size_t geiger_collected(uint32_t heap, enum geiger_generation generations,
                        const void *(*where)(void *user, const void *object,
                                             enum geiger_generation *generation),
                        void *user)
{
	(void)heap;
	(void)generations;
	(void)where;
	(void)user;
	return 0;
}

int geiger_listen(void (*heard)(void *user, const struct geiger_event *event), void *user)
{
	(void)user;
	return heard == NULL ? -EINVAL : -ENOSYS;
}

int geiger_unlisten(void (*heard)(void *user, const struct geiger_event *event), void *user)
{
	(void)heard;
	(void)user;
	return -ENOENT;
}
