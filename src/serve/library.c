/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/library.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/path.h"
#include "page/page.h"
#include "record/regions/region_profile.h"
#include "record/symbols/live_names.h"
#include "serve/watch.h"

/* The cache holds the packed data of so many requests, and drops the least recently used. */
enum { CACHE_COUNT = 4 };

/* A folder's profiles are its files with this suffix; a list holds LIST_MAX of them at most. */
static const char suffix[] = ".geiger";
enum { LIST_MAX = 10000 };

/* A file that changed within this time may change again. */
#define LIVELY_NS (10 * GG_NS_PER_S)

/* Largest packed data of a page; a browser unpacks and reads them in a moment. */
#define DATA_MOST_BYTES (2u << 20)

/*
 * The library makes live data again when they are older than LIVE_FRESH_NS and older than
 * LIVE_REST_FACTOR times what making them took.  The second condition keeps a large process from
 * occupying a processor.
 */
#define LIVE_FRESH_NS UINT64_C(900000000)
enum { LIVE_REST_FACTOR = 4 };

/* Size and time of a file when the library made its data; a difference makes the data stale. */
struct stamp {
	uint64_t bytes;
	int64_t changed_ns;
};

struct cached_data {
	char *key; /* NAME/ or NAME/BEFORE; names of files have no slash */
	struct stamp stamps[2];
	struct gg_buf packed;
	uint64_t tag, used, made_ns, took_ns; /* CLOCK_MONOTONIC */
};

struct gg_library {
	char *path;
	bool is_folder;
	struct gg_watch *watch;      /* NULL: the library has files */
	struct gg_live_names *names; /* names for frames of recordings that still run */
	char title[256];
	double confidence;
	struct cached_data cache[CACHE_COUNT];
	uint64_t uses;
	struct gg_buf live;
	uint64_t live_tag, live_ns, live_took_ns;
	bool was_alive; /* the process lived when `live` was made */
	struct gg_summaries summaries;
	bool with_source;
	const char *source_path;
	const struct gg_progress *progress; /* NULL: nobody */
};

static int not_there(const char *name, struct gg_error *error)
{
	return gg_error_set(error, -ENOENT, name, NULL, "no such profile");
}

/* --- listing entries ----------------------------------------------------------------------- */

static bool is_profile_name(const char *name)
{
	size_t length = strlen(name), end = strlen(suffix);

	return length > end && name[0] != '.' && strcmp(name + length - end, suffix) == 0;
}

static int64_t changed_ns(const struct stat *file)
{
	return (int64_t)file->st_mtim.tv_sec * GG_NS_PER_S + file->st_mtim.tv_nsec;
}

/* Fills the entry of a file.  False: the file is missing or not regular, and is not shown. */
static bool describe(const struct gg_library *library, int folder, const char *name,
                     struct gg_library_entry *entry)
{
	struct stat file;

	if (fstatat(folder, name, &file, library->is_folder ? AT_SYMLINK_NOFOLLOW : 0) < 0 ||
	    !S_ISREG(file.st_mode))
		return false;
	*entry = (struct gg_library_entry){
		.name = strdup(gg_path_base(name)),
		.bytes = (uint64_t)file.st_size,
		.changed_ns = changed_ns(&file),
	};
	entry->is_live = (int64_t)gg_clock_wall_ns() - entry->changed_ns < LIVELY_NS;
	return entry->name != NULL;
}

static int compare_entries(const void *a, const void *b)
{
	const struct gg_library_entry *left = a, *right = b;

	if (left->changed_ns != right->changed_ns)
		return left->changed_ns < right->changed_ns ? 1 : -1;
	return strcmp(left->name, right->name);
}

static int list_folder(struct gg_library *library, struct gg_library_entry **ret_entries,
                       size_t *ret_count, struct gg_error *error)
{
	DIR *folder = opendir(library->path);
	struct gg_library_entry *entries;
	const struct dirent *found;
	size_t count = 0;

	if (folder == NULL)
		return gg_error_set_errno(error, errno, library->path, NULL);
	entries = calloc(LIST_MAX, sizeof(*entries));
	while (entries != NULL && count < LIST_MAX && (found = readdir(folder)) != NULL)
		if (is_profile_name(found->d_name))
			count += describe(library, dirfd(folder), found->d_name, &entries[count]);
	closedir(folder);
	if (entries == NULL)
		return gg_error_memory(error, library->path);
	qsort(entries, count, sizeof(*entries), compare_entries);
	*ret_entries = entries;
	*ret_count = count;
	return 0;
}

int gg_library_list(struct gg_library *library, struct gg_library_entry **ret_entries,
                    size_t *ret_count, struct gg_error *error)
{
	struct gg_library_entry *entry;

	if (library->is_folder)
		return list_folder(library, ret_entries, ret_count, error);
	entry = calloc(1, sizeof(*entry));
	if (entry == NULL)
		return gg_error_memory(error, "serve");
	if (library->watch != NULL) {
		entry->name = strdup(gg_path_base(library->watch->path));
		entry->is_live = library->watch->is_alive;
		entry->changed_ns = (int64_t)gg_clock_wall_ns();
	} else if (!describe(library, AT_FDCWD, library->path, entry)) {
		free(entry);
		return not_there(library->path, error);
	}
	*ret_entries = entry;
	*ret_count = 1;
	return 0;
}

void gg_library_free_list(struct gg_library_entry *entries, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(entries[i].name);
	free(entries);
}

int gg_library_find(struct gg_library *library, const char *name,
                    struct gg_library_entry *ret_entry, struct gg_error *error)
{
	struct gg_library_entry *entries;
	size_t count, found = SIZE_MAX;
	int status = gg_library_list(library, &entries, &count, error);

	if (status < 0)
		return status;
	for (size_t i = 0; i < count; i++)
		if (name != NULL ? strcmp(entries[i].name, name) == 0 : count == 1)
			found = i;
	if (found != SIZE_MAX) {
		*ret_entry = entries[found];
		entries[found].name = NULL;
	}
	gg_library_free_list(entries, count);
	return found != SIZE_MAX ? 0 : not_there(name != NULL ? name : library->title, error);
}

/* --- loading models ------------------------------------------------------------------------ */

/* The path of an entry, which the caller frees; NULL: out of memory. */
static char *path_of(const struct gg_library *library, const char *name)
{
	char *path = NULL;

	if (!library->is_folder)
		return strdup(library->watch != NULL ? library->watch->path : library->path);
	return asprintf(&path, "%s/%s", library->path, name) < 0 ? NULL : path;
}

/* True if the profile has no end, because its recorder still writes. */
static bool is_open_ended(struct gg_profile *profile)
{
	struct gg_profile_session session;

	return gg_profile_session(profile, &session, NULL) == 0 && session.end_ns == GG_TIME_NONE;
}

static int read_path(struct gg_library *library, const char *path,
                     const struct gg_frame_selection *frames, struct gg_model **ret_model,
                     struct gg_error *error)
{
	struct gg_model_options options = { .progress = library->progress };
	struct gg_profile *profile;
	int status = gg_region_profile_open_complete(&profile, path, library->progress, error);

	if (status < 0)
		return status;
	/* The recorder writes names of frames when it ends, so an open recording lacks them. */
	if (is_open_ended(profile) && gg_live_names_learn(library->names, profile, NULL) == 0) {
		options.more_lines = gg_live_names_tell;
		options.context = library->names;
	}
	gg_frame_selection_options(frames, &options);
	status = gg_model_load(ret_model, &profile, 1, &options, error);
	gg_profile_close(profile);
	return status;
}

static int read_entry(struct gg_library *library, const struct gg_library_entry *entry,
                      const struct gg_frame_selection *frames, struct gg_model **ret_model,
                      struct gg_error *error)
{
	char *path;
	int status;

	if (library->watch != NULL && gg_polling_has_managed(library->watch->polling)) {
		gg_watch_poll(library->watch);
		return gg_watch_read(library->watch, frames, ret_model, error);
	}
	path = path_of(library, entry->name);
	status = path == NULL ? gg_error_memory(error, entry->name)
	                      : read_path(library, path, frames, ret_model, error);

	free(path);
	return status;
}

int gg_library_read(struct gg_library *library, const char *name,
                    const struct gg_frame_selection *frames, struct gg_model **ret_model,
                    struct gg_error *error)
{
	struct gg_library_entry entry;
	int status = gg_library_find(library, name, &entry, error);

	if (status < 0)
		return status;
	status = read_entry(library, &entry, frames, ret_model, error);
	gg_progress_end(library->progress);
	free(entry.name);
	return status;
}

/* Divides the RSS of a running process, or of one that has ended meanwhile. */
static int why_of_watched(struct gg_library *library, const char *name,
                          const struct gg_why_options *options, struct gg_why_list *ret_list,
                          struct gg_error *error)
{
	struct gg_library_entry entry;
	struct gg_model *model;
	int status = gg_library_find(library, name, &entry, error);

	if (status < 0)
		return status;
	free(entry.name);
	gg_watch_poll(library->watch);
	status = gg_watch_model(library->watch, &model, error);
	return status < 0 ? status : gg_why_of(ret_list, model, options, error);
}

/* The rows are those of the frames that pages and reports show. */
int gg_library_why(struct gg_library *library, const char *name,
                   const struct gg_why_options *options, struct gg_why_list *ret_list,
                   struct gg_error *error)
{
	const struct gg_frame_selection frames = { 0 };
	struct gg_model *model = NULL;
	int status;

	if (library->watch != NULL) /* its looks are rare, so that requests cost it nothing */
		return why_of_watched(library, name, options, ret_list, error);
	status = gg_library_read(library, name, &frames, &model, error);
	if (status == 0)
		status = gg_frame_selection_apply(&frames, &model, 1, error);
	if (status == 0)
		status = gg_why_of(ret_list, model, options, error);
	gg_model_free(model);
	return status;
}

static uint64_t tag_of(const struct gg_buf *packed)
{
	return gg_hash_bytes(packed->data, packed->length, 0);
}

/* --- summaries for lists ------------------------------------------------------------------- */

static const struct gg_profile_summary *known_summary(const struct gg_library *library,
                                                      const struct gg_library_entry *entry)
{
	return gg_summaries_get(&library->summaries, entry->name, entry->bytes, entry->changed_ns);
}

static void make_summary(struct gg_library *library, const struct gg_library_entry *entry)
{
	const struct gg_frame_selection frames = { .all_frames = true };
	struct gg_model *model = NULL;
	struct gg_error error = { 0 };

	if (library->watch != NULL)
		return;
	if (read_entry(library, entry, &frames, &model, &error) < 0)
		model = NULL;
	gg_progress_end(library->progress);
	gg_summaries_put(&library->summaries, entry->name, entry->bytes, entry->changed_ns, model,
	                 library->confidence, error.message);
	gg_model_free(model);
}

struct command_key {
	const struct gg_library_entry *entries;
	const char *command;
};

static bool command_is_equal(uint64_t value, const void *context)
{
	const struct command_key *key = context;

	return strcmp(key->entries[value].summary->command, key->command) == 0;
}

/* Entries are sorted, the newest first, so the walk begins at the end. */
static void find_predecessors(struct gg_library_entry *entries, size_t count)
{
	struct gg_map last = { 0 };

	for (size_t i = count; i-- > 0;) {
		struct command_key key = { entries, NULL };
		uint64_t hash, found;

		if (entries[i].summary == NULL || entries[i].summary->command == NULL)
			continue;
		key.command = entries[i].summary->command;
		hash = gg_hash_bytes(key.command, strlen(key.command), gg_map_seed(&last));
		found = gg_map_take(&last, hash, command_is_equal, &key);
		if (found != GG_MAP_NONE)
			entries[i].predecessor = &entries[found];
		if (gg_map_insert(&last, hash, i) < 0)
			break;
	}
	gg_map_done(&last);
}

size_t gg_library_summarize(struct gg_library *library, struct gg_library_entry *entries,
                            size_t count, uint64_t budget_ns)
{
	uint64_t start_ns = gg_clock_monotonic_ns();
	size_t missing = 0;

	for (size_t i = 0; i < count; i++)
		if (known_summary(library, &entries[i]) == NULL &&
		    gg_clock_monotonic_ns() - start_ns < budget_ns)
			make_summary(library, &entries[i]);
	for (size_t i = 0; i < count; i++) {
		entries[i].summary = known_summary(library, &entries[i]);
		missing += entries[i].summary == NULL;
	}
	find_predecessors(entries, count);
	return missing;
}

/* --- data of a running process ------------------------------------------------------------- */

static int make_live(struct gg_library *library, struct gg_error *error)
{
	const struct gg_watch *watch = library->watch;
	struct gg_page_options options = {
		.title = library->title,
		.confidence = library->confidence,
		.most_bytes = DATA_MOST_BYTES,
		.is_live = watch->is_alive,
		.watched = watch->points,
		.watched_count = watch->count,
		.watched_from_ns = gg_polling_first_ns(watch->polling),
		.watched_grid_ns = GG_POLLING_GRID_NS,
		.exports = "/export?",
	};
	struct gg_buf packed = { 0 };
	struct gg_model *model;
	uint64_t start_ns = gg_clock_monotonic_ns();
	int status = gg_watch_model(library->watch, &model, error);

	if (status == 0)
		status = gg_page_data(model, NULL, &options, &packed, error);
	if (status < 0) {
		gg_buf_done(&packed);
		return status;
	}
	gg_buf_done(&library->live);
	library->live = packed;
	library->live_tag = tag_of(&packed);
	library->live_ns = gg_clock_monotonic_ns();
	library->live_took_ns = library->live_ns - start_ns;
	library->was_alive = watch->is_alive;
	return 0;
}

static int live_data(struct gg_library *library, struct gg_error *error)
{
	uint64_t age_ns = gg_clock_monotonic_ns() - library->live_ns;
	bool is_old = age_ns > LIVE_FRESH_NS && age_ns > LIVE_REST_FACTOR * library->live_took_ns;

	gg_watch_poll(library->watch);
	if (library->live.length > 0 &&
	    (!is_old || (!library->watch->is_alive && !library->was_alive)))
		return 0;
	return make_live(library, error);
}

/* --- data of files ------------------------------------------------------------------------- */

static struct stamp stamp_of(const struct gg_library_entry *entry)
{
	return (struct stamp){ .bytes = entry->bytes, .changed_ns = entry->changed_ns };
}

static void forget(struct cached_data *cached)
{
	free(cached->key);
	gg_buf_done(&cached->packed);
	*cached = (struct cached_data){ 0 };
}

/*
 * Finds the cache entry for `key`.  *ret_is_there is true if its data can be used: the files have
 * not changed, or making the data again so soon would cost too much.  Otherwise the entry is the
 * one to overwrite: the stale data of this key, or the least recently used data.
 */
static struct cached_data *look_up(struct gg_library *library, const char *key,
                                   const struct stamp stamps[2], bool *ret_is_there)
{
	struct cached_data *oldest = &library->cache[0];

	*ret_is_there = false;
	for (size_t i = 0; i < CACHE_COUNT; i++) {
		struct cached_data *cached = &library->cache[i];

		if (cached->key != NULL && strcmp(cached->key, key) == 0) {
			*ret_is_there = memcmp(cached->stamps, stamps, sizeof(cached->stamps)) ==
			                        0 ||
			                gg_clock_monotonic_ns() - cached->made_ns <
			                        LIVE_REST_FACTOR * cached->took_ns;
			return cached;
		}
		if (cached->used < oldest->used)
			oldest = cached;
	}
	return oldest;
}

static int make_data(struct gg_library *library, const struct gg_library_entry *entry,
                     const struct gg_library_entry *before, struct gg_buf *packed,
                     struct gg_error *error)
{
	struct gg_model *model = NULL, *before_model = NULL;
	GG_CLEANUP(gg_buf_done) struct gg_buf exports = { 0 };
	const struct gg_frame_selection frames = { 0 };
	int status = read_entry(library, entry, &frames, &model, error);
	struct gg_page_options options = {
		.title = entry->name,
		.confidence = library->confidence,
		.most_bytes = DATA_MOST_BYTES,
		.before_title = before != NULL ? before->name : NULL,
		.with_source = library->with_source,
		.source_path = library->source_path,
		.progress = library->progress,
	};

	if (status == 0 && before != NULL)
		status = read_entry(library, before, &frames, &before_model, error);
	if (status == 0 && before != NULL)
		status = gg_page_name_functions(model, before_model, error);
	if (status == 0)
		status = gg_frame_selection_apply(&frames,
		                                  (struct gg_model *[]){ model, before_model },
		                                  before != NULL ? 2 : 1, error);
	if (status == 0) {
		/* A recent file without an end belongs to a recorder that still writes. */
		const struct gg_profile_session *session = &model->sessions[0];

		options.is_live = entry->is_live && session->end_ns == GG_TIME_NONE;
		gg_buf_append_text(&exports, "/export?");
		if (library->is_folder) {
			gg_buf_append_text(&exports, "profile=");
			gg_page_append_escaped(entry->name, &exports);
			gg_buf_append_text(&exports, "&");
		}
		options.exports = gg_buf_text(&exports);
		status = gg_page_data(model, before_model, &options, packed, error);
	}
	gg_progress_end(library->progress);
	gg_model_free(before_model);
	gg_model_free(model);
	return status;
}

static int file_data(struct gg_library *library, const struct gg_library_entry *entry,
                     const struct gg_library_entry *before, struct cached_data **ret_cached,
                     struct gg_error *error)
{
	struct stamp stamps[2] = { stamp_of(entry) };
	struct gg_buf packed = { 0 };
	char *key = NULL;
	struct cached_data *cached;
	uint64_t start_ns = gg_clock_monotonic_ns();
	bool is_there;
	int status;

	if (before != NULL)
		stamps[1] = stamp_of(before);
	if (asprintf(&key, "%s/%s", entry->name, before != NULL ? before->name : "") < 0)
		return gg_error_memory(error, "serve");
	cached = look_up(library, key, stamps, &is_there);
	if (!is_there) {
		status = make_data(library, entry, before, &packed, error);
		if (status < 0) {
			gg_buf_done(&packed);
			free(key);
			return status;
		}
		forget(cached);
		*cached = (struct cached_data){ .key = key,
			                        .packed = packed,
			                        .tag = tag_of(&packed) };
		cached->made_ns = gg_clock_monotonic_ns();
		cached->took_ns = cached->made_ns - start_ns;
		memcpy(cached->stamps, stamps, sizeof(cached->stamps));
	} else {
		free(key);
	}
	cached->used = ++library->uses;
	*ret_cached = cached;
	return 0;
}

int gg_library_data(struct gg_library *library, const char *name, const char *before,
                    const struct gg_buf **ret_packed, uint64_t *ret_tag, struct gg_error *error)
{
	struct gg_library_entry entry = { 0 }, other = { 0 };
	struct cached_data *cached = NULL;
	int status;

	if (library->watch != NULL && before == NULL) {
		status = live_data(library, error);
		*ret_packed = &library->live;
		*ret_tag = library->live_tag;
		return status;
	}
	status = gg_library_find(library, name, &entry, error);
	if (status == 0 && before != NULL)
		status = gg_library_find(library, before, &other, error);
	if (status == 0)
		status = file_data(library, &entry, before != NULL ? &other : NULL, &cached, error);
	free(entry.name);
	free(other.name);
	if (status < 0)
		return status;
	*ret_packed = &cached->packed;
	*ret_tag = cached->tag;
	return 0;
}

/* --- open and free ------------------------------------------------------------------------- */

static int open_path(struct gg_library *library, const char *path, struct gg_error *error)
{
	struct gg_profile *profile;
	struct stat file;
	int status;

	library->path = realpath(path, NULL);
	if (library->path == NULL || stat(library->path, &file) < 0)
		return gg_error_set_errno(error, errno, path, NULL);
	library->is_folder = S_ISDIR(file.st_mode);
	/* A folder's real path has a name even if the user gave "." */
	snprintf(library->title, sizeof(library->title), "%.250s",
	         gg_path_base(library->is_folder ? library->path : path));
	if (library->title[0] == '\0')
		snprintf(library->title, sizeof(library->title), "/");
	if (library->is_folder)
		return 0;
	/* Other files are refused now, not at the first request. */
	status = gg_region_profile_open(&profile, library->path, library->progress, error);
	gg_progress_end(library->progress);
	if (status == 0)
		gg_profile_close(profile);
	return status;
}

static int open_process(struct gg_library *library, const char *process, struct gg_error *error)
{
	library->watch = calloc(1, sizeof(*library->watch));
	if (library->watch == NULL)
		return gg_error_memory(error, process);
	snprintf(library->title, sizeof(library->title), "process %.200s", process);
	return gg_watch_init(library->watch, process, library->confidence, error);
}

int gg_library_open(struct gg_library **ret_library, const struct gg_serve_options *options,
                    struct gg_error *error)
{
	struct gg_library *library = calloc(1, sizeof(*library));
	int status;

	if (library == NULL)
		return gg_error_memory(error, "serve");
	library->confidence = options->confidence;
	library->with_source = options->with_source;
	library->source_path = options->source_path;
	library->progress = options->progress;
	status = gg_live_names_new(&library->names, error);
	if (status == 0)
		status = options->process != NULL ? open_process(library, options->process, error)
		                                  : open_path(library, options->path, error);
	if (status < 0)
		gg_library_free(library);
	else
		*ret_library = library;
	return status;
}

void gg_library_free(struct gg_library *library)
{
	if (library == NULL)
		return;
	for (size_t i = 0; i < CACHE_COUNT; i++)
		forget(&library->cache[i]);
	if (library->watch != NULL)
		gg_watch_done(library->watch);
	free(library->watch);
	gg_summaries_done(&library->summaries);
	gg_live_names_free(library->names);
	gg_buf_done(&library->live);
	free(library->path);
	free(library);
}

bool gg_library_is_folder(const struct gg_library *library)
{
	return library->is_folder;
}

bool gg_library_is_process(const struct gg_library *library)
{
	return library->watch != NULL;
}

const char *gg_library_title(const struct gg_library *library)
{
	return library->title;
}

void gg_library_tick(struct gg_library *library)
{
	if (library->watch != NULL)
		gg_watch_poll(library->watch);
}
