/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seen_processes - the processes that a sender has seen, and the notes of what was sent of each.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/time_units.h"
#include "format/codec/stable_hash.h"
#include "send/sender.h"
#include "send/sender_internal.h"

enum { FORGET_SECONDS = 24 * 60 * 60 /* notes of processes that are gone */ };

void gg_seen_name_owner(char owner[GG_SEND_OWNER_MAX], uint32_t pid, uint64_t wall_ns,
                        uint64_t more)
{
	char text[40];

	snprintf(text, sizeof(text), "%" PRIx64 " %" PRIx64, wall_ns, more);
	snprintf(owner, GG_SEND_OWNER_MAX, "%u-%016" PRIx64, pid,
	         gg_stable_hash_text(GG_STABLE_HASH_START, text));
}

static void name_totals(const char *owner, char name[GG_SEND_OWNER_MAX + 8])
{
	snprintf(name, GG_SEND_OWNER_MAX + 8, "%s.totals", owner);
}

int gg_seen_is_committed(const char *owner, uint64_t number, void *context)
{
	const struct sender *sender = context;
	struct gg_sent_totals totals;
	char name[GG_SEND_OWNER_MAX + 8];
	int status;

	if (strchr(owner, '/') != NULL)
		return 0;
	name_totals(owner, name);
	status = gg_sent_totals_read(&totals, sender->state_fd, name, NULL);
	if (status < 0)
		return status == -ENOENT ? 0 : status == -EBADMSG ? 1 : status;
	status = totals.number == number;
	gg_sent_totals_done(&totals);
	return status;
}

struct owner_key {
	const struct sender *sender;
	const char *owner;
};

static bool is_owner(uint64_t index, const void *context)
{
	const struct owner_key *key = context;

	return strcmp(key->sender->seen.items[index].owner, key->owner) == 0;
}

static uint64_t hash_of(struct sender *sender, const char *owner)
{
	return gg_hash_bytes(owner, strlen(owner), gg_map_seed(&sender->seen_map));
}

struct seen_process *gg_seen_find(struct sender *sender, const char *owner)
{
	const struct owner_key key = { sender, owner };
	uint64_t index = gg_map_find(&sender->seen_map, hash_of(sender, owner), is_owner, &key);

	return index != GG_MAP_NONE ? &sender->seen.items[index] : NULL;
}

struct seen_process *gg_seen_process_of(struct sender *sender, const char *owner)
{
	struct seen_process *seen = gg_seen_find(sender, owner);

	if (seen != NULL)
		return seen;
	if (!gg_array_reserve(&sender->seen, sender->seen.count + 1) ||
	    gg_map_insert(&sender->seen_map, hash_of(sender, owner), sender->seen.count) < 0)
		return NULL;
	seen = gg_array_add(&sender->seen);
	snprintf(seen->owner, sizeof(seen->owner), "%s", owner);
	return seen;
}

void gg_seen_forget_outline(struct sender *sender, struct seen_process *seen)
{
	if (seen->outline == NULL)
		return;
	sender->outline_bytes -= gg_send_outline_bytes(seen->outline);
	gg_send_outline_free(seen->outline);
	seen->outline = NULL;
}

static void forget(struct sender *sender, struct seen_process *seen)
{
	gg_sent_totals_done(&seen->totals);
	gg_seen_forget_outline(sender, seen);
}

void gg_seen_done(struct sender *sender)
{
	for (size_t i = 0; i < sender->seen.count; i++)
		forget(sender, &sender->seen.items[i]);
	gg_array_done(&sender->seen);
	gg_map_done(&sender->seen_map);
}

int gg_seen_read_totals(struct sender *sender, const struct seen_process *seen, bool began_before,
                        struct gg_sent_totals *totals, bool *ret_is_known)
{
	struct gg_error error = { 0 };
	char name[GG_SEND_OWNER_MAX + 8];
	int status;

	*totals = (struct gg_sent_totals){ 0 };
	*ret_is_known = true;
	if (sender->state_fd < 0) {
		*ret_is_known = seen->has_totals || !began_before;
		/* A copy: the old totals count until the new ones do. */
		return gg_sent_totals_copy(totals, &seen->totals) == 0
		               ? 0
		               : gg_error_memory(sender->error, "send");
	}
	name_totals(seen->owner, name);
	status = gg_sent_totals_read(totals, sender->state_fd, name, &error);
	if (status == -ENOENT)
		return 0;
	if (status == -EBADMSG) {
		*ret_is_known = false;
		gg_sender_tell(sender,
		               "%s: the note of what was sent is damaged; what it allocated up to "
		               "now is not sent",
		               seen->about);
		return 0;
	}
	return status < 0 ? gg_error_set_errno(sender->error, -status, name, NULL) : 0;
}

int gg_seen_write_totals(struct sender *sender, struct seen_process *seen,
                         struct gg_sent_totals *totals)
{
	char name[GG_SEND_OWNER_MAX + 8];
	bool is_final = totals->is_final;
	int status;

	if (sender->state_fd < 0) {
		gg_sent_totals_done(&seen->totals);
		seen->is_final = is_final;
		seen->totals = *totals;
		seen->has_totals = true;
		*totals = (struct gg_sent_totals){ 0 };
		return 0;
	}
	name_totals(seen->owner, name);
	status = gg_sent_totals_write(totals, sender->state_fd, name, sender->error);
	if (status == 0) /* otherwise the next look makes the difference again */
		seen->is_final = is_final;
	return status;
}

bool gg_seen_is_final(struct sender *sender, const char *owner)
{
	struct seen_process *seen = gg_seen_process_of(sender, owner);
	struct gg_sent_totals totals;
	char name[GG_SEND_OWNER_MAX + 8];

	if (seen == NULL)
		return false;
	seen->is_here = true;
	if (seen->is_final || sender->state_fd < 0)
		return seen->is_final;
	name_totals(owner, name);
	if (gg_sent_totals_read(&totals, sender->state_fd, name, NULL) == 0) {
		seen->is_final = totals.is_final;
		gg_sent_totals_done(&totals);
	}
	return seen->is_final;
}

/* Indices have changed.  The map had room for more, so this cannot fail. */
static void rebuild_map(struct sender *sender)
{
	gg_map_done(&sender->seen_map);
	for (size_t i = 0; i < sender->seen.count; i++)
		if (gg_map_insert(&sender->seen_map, hash_of(sender, sender->seen.items[i].owner),
		                  i) < 0)
			gg_sender_tell(sender,
			               "memory ran out: a process is sent as if it were new");
}

void gg_seen_tell_gone(struct sender *sender)
{
	size_t kept = 0;

	for (size_t i = 0; i < sender->seen.count; i++) {
		struct seen_process *seen = &sender->seen.items[i];

		if (!seen->is_here && !seen->is_final) {
			sender->result->lost_count++;
			gg_sender_tell(sender,
			               "the region of %s is gone: what it allocated since its last "
			               "profile is lost",
			               seen->about);
		}
		if (!seen->is_here) {
			forget(sender, seen);
			continue;
		}
		seen->is_here = false;
		sender->seen.items[kept++] = *seen;
	}
	if (kept == sender->seen.count)
		return;
	sender->seen.count = kept;
	rebuild_map(sender);
}

void gg_seen_clean_notes(struct sender *sender)
{
	int again = sender->state_fd >= 0
	                    ? openat(sender->state_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
	                    : -1;
	DIR *listing = again >= 0 ? fdopendir(again) : NULL;
	int64_t now_s = (int64_t)(gg_clock_wall_ns() / GG_NS_PER_S);
	const struct dirent *entry;
	struct stat file;

	while (listing != NULL && (entry = readdir(listing)) != NULL) {
		const char *suffix = strstr(entry->d_name, ".totals");
		char owner[GG_SEND_OWNER_MAX];
		bool is_seen = false;

		if (suffix == NULL || suffix - entry->d_name >= GG_SEND_OWNER_MAX ||
		    fstatat(sender->state_fd, entry->d_name, &file, AT_SYMLINK_NOFOLLOW) < 0 ||
		    now_s - (int64_t)file.st_mtim.tv_sec < FORGET_SECONDS)
			continue;
		snprintf(owner, sizeof(owner), "%.*s", (int)(suffix - entry->d_name),
		         entry->d_name);
		for (size_t i = 0; i < sender->seen.count; i++)
			is_seen |= strcmp(sender->seen.items[i].owner, owner) == 0;
		if (!is_seen)
			unlinkat(sender->state_fd, entry->d_name, 0);
	}
	if (listing != NULL)
		closedir(listing);
	else if (again >= 0)
		close(again);
}
