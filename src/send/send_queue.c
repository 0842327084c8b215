/* SPDX-License-Identifier: Apache-2.0 */
/* send_queue - keeps bodies as files, and sends the oldest one until its receiver has it. */
#include "send/send_queue.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/time_units.h"
#include "format/codec/quick_crc32.h"

enum {
	WAITING_MAX = 1000000,  /* bodies */
	LINE_TEXT_MAX = 4096,   /* of an item's texts */
	NUMBER_DIGITS = 16,     /* in the name of a file */
	RETRY_AFTER_MAX = 3600, /* seconds */
	DOUBLINGS_MAX = 20,
	RECEIVER_MAX = 200, /* of its name in a message */
};
#define BODY_HEAD "geiger-send 1 %08" PRIx32 " %016" PRIx64 "\n"
enum { BODY_HEAD_BYTES = 40 };

enum waiting_state { IS_NEW, IS_WAITING, IS_SENT };
static const char *const suffixes[] = { ".new", ".body", ".sent" };

struct waiting {
	uint64_t number, bytes;
	char *content; /* without a directory: what a file would have */
	enum waiting_state state;
	bool is_committed; /* true for all but new bodies; a new one could not be renamed yet */
};

struct gg_send_queue {
	struct gg_send_queue_options options;
	int fd;                           /* of the directory; -1: memory */
	GG_ARRAY(struct waiting) waiting; /* by number */
	uint64_t last_number;
	/* The content of that number's file until the commit; empty: read the file. */
	struct gg_buf last;
	uint64_t due_ns;        /* the next attempt; 0: at once */
	unsigned failure_count; /* in a row */
	uint64_t outage_ns;     /* when it began */
	uint64_t random;
	struct gg_send_counts counts;
};

static void tell(struct gg_send_queue *queue, const char *text)
{
	if (queue->options.tell != NULL)
		queue->options.tell(text, queue->options.context);
}

/* --- files ---------------------------------------------------------------------------------- */

struct file_name {
	char text[NUMBER_DIGITS + 8];
};

static struct file_name name_of(uint64_t number, const char *suffix)
{
	struct file_name name;

	snprintf(name.text, sizeof(name.text), "%016" PRIx64 "%s", number, suffix);
	return name;
}

/* Returns false for files of others. */
static bool parse_name(const char *name, uint64_t *ret_number, enum waiting_state *ret_state)
{
	if (strspn(name, "0123456789abcdef") != NUMBER_DIGITS)
		return false;
	*ret_number = strtoull(name, NULL, 16);
	for (size_t i = 0; i < GG_COUNT(suffixes); i++)
		if (strcmp(name + NUMBER_DIGITS, suffixes[i]) == 0) {
			*ret_state = (enum waiting_state)i;
			return true;
		}
	return false;
}

static int write_all(int fd, const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t count = write(fd, bytes, length);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return count < 0 ? -errno : -EIO;
		bytes += count;
		length -= (size_t)count;
	}
	return 0;
}

/* The file gets its name when it is whole, so that a kill leaves no part of a body. */
static int write_file(struct gg_send_queue *queue, uint64_t number, const struct gg_buf *content)
{
	struct file_name name = name_of(number, suffixes[IS_NEW]), part = name_of(number, ".part");
	int fd = openat(queue->fd, part.text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600),
	    status;

	if (fd < 0)
		return -errno;
	status = write_all(fd, content->data, content->length);
	if (close(fd) < 0 && status == 0)
		status = -errno;
	if (status == 0 && renameat(queue->fd, part.text, queue->fd, name.text) < 0)
		status = -errno;
	if (status < 0)
		unlinkat(queue->fd, part.text, 0);
	return status;
}

static int read_file(struct gg_send_queue *queue, const struct waiting *waiting, struct gg_buf *out)
{
	struct file_name name = name_of(waiting->number, suffixes[waiting->state]);
	int fd = openat(queue->fd, name.text, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), status = 0;
	size_t wanted = waiting->bytes;

	if (fd < 0)
		return -errno;
	if (!gg_buf_reserve(out, wanted + 1))
		status = -ENOMEM;
	while (status == 0 && out->length < wanted) {
		ssize_t count = read(fd, out->data + out->length, wanted - out->length);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			status = count < 0 ? -errno : -EBADMSG;
		else
			out->length += (size_t)count;
	}
	close(fd);
	return status;
}

/* Returns false if the file keeps its old state. */
static bool set_state(struct gg_send_queue *queue, struct waiting *waiting,
                      enum waiting_state state)
{
	struct file_name from = name_of(waiting->number, suffixes[waiting->state]);
	struct file_name to = name_of(waiting->number, suffixes[state]);

	if (queue->fd >= 0 && waiting->state != state &&
	    renameat(queue->fd, from.text, queue->fd, to.text) < 0)
		return false;
	waiting->state = state;
	return true;
}

static void forget(struct gg_send_queue *queue, size_t index)
{
	struct waiting *items = queue->waiting.items;

	if (queue->fd >= 0)
		unlinkat(queue->fd, name_of(items[index].number, suffixes[items[index].state]).text,
		         0);
	free(items[index].content);
	gg_assert(queue->counts.waiting_bytes >= items[index].bytes);
	queue->counts.waiting_bytes -= items[index].bytes;
	memmove(items + index, items + index + 1,
	        (queue->waiting.count - index - 1) * sizeof(*items));
	queue->waiting.count--;
}

/* --- contents ------------------------------------------------------------------------------- */

static bool is_line(const char *text)
{
	return strlen(text) < LINE_TEXT_MAX && strchr(text, '\n') == NULL;
}

/* `about` is for people, and may be a command whose arguments have lines or are long. */
static void append_about(const char *about, struct gg_buf *out)
{
	for (size_t i = 0; about[i] != '\0' && i + 1 < LINE_TEXT_MAX; i++)
		gg_buf_append(out, about[i] == '\n' ? " " : &about[i], 1);
	gg_buf_append_text(out, "\n");
}

/* Builds what a file has: the head with a check sum, the texts, and the body. */
static int pack(const struct gg_send_item *item, struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf rest = { 0 };
	uint32_t sum;

	if (item->length > GG_SEND_BODY_MAX)
		return -EFBIG;
	if (!is_line(item->target) || !is_line(item->type) || !is_line(item->owner))
		return -EINVAL;
	gg_buf_printf(&rest, "%s\n%s\n", item->target, item->type);
	append_about(item->about, &rest);
	gg_buf_printf(&rest, "%s\n%d\n", item->owner, item->is_gzip);
	gg_buf_append(&rest, item->body, item->length);
	if (rest.failed)
		return -ENOMEM;
	sum = gg_quick_crc32(rest.data, rest.length);
	gg_buf_printf(out, BODY_HEAD, sum, (uint64_t)rest.length);
	gg_buf_append(out, rest.data, rest.length);
	return out->failed ? -ENOMEM : 0;
}

/* Ends a line in place, and returns its start; NULL: there is no line. */
static char *take_line(char **at, const char *end)
{
	char *start = *at, *stop = memchr(start, '\n', (size_t)(end - start));

	if (stop == NULL || stop - start >= LINE_TEXT_MAX)
		return NULL;
	*stop = '\0';
	*at = stop + 1;
	return strlen(start) == (size_t)(stop - start) ? start : NULL;
}

/* The texts of the item point into `bytes`, which the function changes. */
static bool unpack(char *bytes, size_t length, bool is_file, struct gg_send_item *item)
{
	char *at = bytes, *end = bytes + length, *is_gzip, head[BODY_HEAD_BYTES + 1] = "";
	uint64_t rest_bytes;
	uint32_t sum;

	if (length < BODY_HEAD_BYTES)
		return false;
	memcpy(head, bytes, BODY_HEAD_BYTES); /* as a string, for sscanf() */
	if (memchr(head, '\n', sizeof(head)) != head + BODY_HEAD_BYTES - 1 ||
	    sscanf(head, BODY_HEAD, &sum, &rest_bytes) != 2 ||
	    rest_bytes != length - BODY_HEAD_BYTES)
		return false;
	at += BODY_HEAD_BYTES;
	if (is_file && gg_quick_crc32(at, rest_bytes) != sum)
		return false;
	item->target = take_line(&at, end);
	item->type = item->target != NULL ? take_line(&at, end) : NULL;
	item->about = item->type != NULL ? take_line(&at, end) : NULL;
	item->owner = item->about != NULL ? take_line(&at, end) : NULL;
	is_gzip = item->owner != NULL ? take_line(&at, end) : NULL;
	if (is_gzip == NULL)
		return false;
	item->is_gzip = strcmp(is_gzip, "1") == 0;
	item->body = at;
	item->length = (size_t)(end - at);
	return true;
}

/*
 * Reads a body into `bytes`.  -EBADMSG: it is damaged or gone, and will never be sent.  Other
 * errors, such as -EMFILE or -ENOMEM, may pass, so the body must stay.
 */
static int load(struct gg_send_queue *queue, const struct waiting *waiting, struct gg_buf *bytes,
                struct gg_send_item *item)
{
	bool is_file = false;
	int status = 0;

	if (queue->fd < 0) {
		gg_buf_append(bytes, waiting->content, waiting->bytes);
	} else if (waiting->number == queue->last_number && queue->last.length > 0) {
		*bytes = queue->last;
		queue->last = (struct gg_buf){ 0 };
	} else {
		is_file = true;
		status = read_file(queue, waiting, bytes);
	}
	if (status == -ENOENT || status == -ELOOP)
		return -EBADMSG;
	if (status < 0)
		return status;
	if (bytes->failed)
		return -ENOMEM;
	return bytes->data != NULL && unpack(bytes->data, bytes->length, is_file, item) ? 0
	                                                                                : -EBADMSG;
}

static void drop_damaged(struct gg_send_queue *queue, size_t index)
{
	queue->counts.damaged_count++;
	tell(queue, "a damaged body was removed from the queue");
	forget(queue, index);
}

/* --- opening -------------------------------------------------------------------------------- */

static void drop_in_doubt(struct gg_send_queue *queue, size_t index, const char *about)
{
	char text[512];

	snprintf(text, sizeof(text), "dropped %.200s: nobody knows whether the receiver has it",
	         about);
	tell(queue, text);
	forget(queue, index);
}

/*
 * Decides what becomes of a body that the last sender left, and lets *index go on.  A body that
 * cannot be read now ends the opening: its note could be overwritten before anybody reads it.
 */
static int adopt(struct gg_send_queue *queue, size_t *index)
{
	struct waiting *waiting = &queue->waiting.items[*index];
	GG_CLEANUP(gg_buf_done) struct gg_buf bytes = { 0 };
	int status = 0, is_committed = 0;
	struct gg_send_item item;
	char text[512];

	if (waiting->state != IS_WAITING) /* that state is checked when it is sent */
		status = load(queue, waiting, &bytes, &item);
	if (status == -EBADMSG) {
		drop_damaged(queue, *index);
		return 0;
	}
	if (status == 0 && waiting->state == IS_NEW && queue->options.is_committed != NULL)
		is_committed = queue->options.is_committed(item.owner, waiting->number,
		                                           queue->options.context);
	if (status < 0 || is_committed < 0)
		return status < 0 ? status : is_committed;
	if (waiting->state == IS_NEW && !is_committed) {
		forget(queue, *index);
		return 0;
	}
	if (waiting->state == IS_SENT) {
		queue->counts.doubt_count++;
		if (queue->options.drop_in_doubt) {
			drop_in_doubt(queue, *index, item.about);
			return 0;
		}
		snprintf(text, sizeof(text),
		         "sends %.200s again: the last sender ended before the reply came",
		         item.about);
		tell(queue, text);
	}
	waiting->is_committed = true;
	set_state(queue, waiting, IS_WAITING);
	(*index)++;
	return 0;
}

static int compare_waiting(const void *a, const void *b)
{
	const struct waiting *left = a, *right = b;

	return (left->number > right->number) - (left->number < right->number);
}

static int list_files(struct gg_send_queue *queue, DIR *listing)
{
	const struct dirent *entry;
	struct waiting waiting = { 0 };
	struct stat file;

	while ((entry = readdir(listing)) != NULL && queue->waiting.count < WAITING_MAX) {
		size_t length = strlen(entry->d_name);

		if (length > 5 && strcmp(entry->d_name + length - 5, ".part") == 0)
			unlinkat(queue->fd, entry->d_name, 0);
		if (!parse_name(entry->d_name, &waiting.number, &waiting.state) ||
		    fstatat(queue->fd, entry->d_name, &file, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (!S_ISREG(file.st_mode) || file.st_size > GG_SEND_BODY_MAX + 5 * LINE_TEXT_MAX) {
			queue->counts.damaged_count++;
			tell(queue, "a damaged body was removed from the queue");
			unlinkat(queue->fd, entry->d_name, 0);
			continue;
		}
		waiting.bytes = (uint64_t)file.st_size;
		if (!gg_array_push(&queue->waiting, waiting))
			return -ENOMEM;
		queue->counts.waiting_bytes += waiting.bytes;
		if (waiting.number > queue->last_number)
			queue->last_number = waiting.number;
	}
	return 0;
}

static int open_directory(struct gg_send_queue *queue, struct gg_error *error)
{
	const char *path = queue->options.directory;
	DIR *listing;
	int again, status;

	queue->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (queue->fd < 0)
		return gg_error_set_errno(error, errno, path, NULL);
	if (flock(queue->fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK
		               ? gg_error_set(error, -EBUSY, path,
		                              "End it, or give this one its own --state.",
		                              "another sender uses this directory")
		               : gg_error_set_errno(error, errno, path, NULL);
	again = openat(queue->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	listing = again >= 0 ? fdopendir(again) : NULL;
	if (listing == NULL) {
		if (again >= 0)
			close(again);
		return gg_error_set_errno(error, errno, path, NULL);
	}
	status = list_files(queue, listing);
	closedir(listing);
	if (status < 0)
		return gg_error_memory(error, path);
	if (queue->waiting.count > 0)
		qsort(queue->waiting.items, queue->waiting.count, sizeof(*queue->waiting.items),
		      compare_waiting);
	for (size_t i = 0; status == 0 && i < queue->waiting.count;)
		status = adopt(queue, &i);
	return status < 0 ? gg_error_set_errno(error, -status, path, NULL) : 0;
}

int gg_send_queue_open(struct gg_send_queue **ret_queue,
                       const struct gg_send_queue_options *options, struct gg_error *error)
{
	struct gg_send_queue *queue = calloc(1, sizeof(*queue));
	int status = 0;

	if (queue == NULL)
		return gg_error_memory(error, "send");
	queue->options = *options;
	queue->fd = -1;
	queue->random = options->seed;
	if (options->directory != NULL)
		status = open_directory(queue, error);
	if (status < 0)
		gg_send_queue_free(queue);
	else
		*ret_queue = queue;
	return status;
}

void gg_send_queue_free(struct gg_send_queue *queue)
{
	if (queue == NULL)
		return;
	for (size_t i = 0; i < queue->waiting.count; i++)
		free(queue->waiting.items[i].content);
	gg_array_done(&queue->waiting);
	gg_buf_done(&queue->last);
	if (queue->fd >= 0)
		close(queue->fd);
	free(queue);
}

/* --- adding --------------------------------------------------------------------------------- */

/* Wall time makes the number unique among all senders of a directory. */
static uint64_t next_number(struct gg_send_queue *queue)
{
	uint64_t now_ns = gg_clock_wall_ns();

	queue->last_number = now_ns > queue->last_number ? now_ns : queue->last_number + 1;
	return queue->last_number;
}

/* Renames what an earlier commit could not.  Returns false if that fails again. */
static bool finish_commits(struct gg_send_queue *queue)
{
	for (size_t i = queue->waiting.count; i-- > 0;) {
		struct waiting *waiting = &queue->waiting.items[i];

		if (waiting->is_committed && waiting->state == IS_NEW &&
		    !set_state(queue, waiting, IS_WAITING))
			return false;
	}
	return true;
}

static int refuse(struct gg_send_queue *queue, const char *why, struct gg_error *error)
{
	queue->counts.refused_count++;
	return gg_error_set(error, -ENOSPC, "send", NULL, "%s", why);
}

int gg_send_queue_put(struct gg_send_queue *queue, const struct gg_send_item *item,
                      uint64_t *ret_number, struct gg_error *error)
{
	struct waiting waiting = { .state = IS_NEW };
	struct gg_buf content = { 0 };
	int status;

	/* The note has the number of one body, so the one before must not need its number. */
	if (!finish_commits(queue))
		return gg_error_set(error, -EIO, "send", NULL,
		                    "the queue's files cannot be renamed");
	status = pack(item, &content);
	waiting.number = next_number(queue);
	waiting.bytes = content.length;
	if (status == -EFBIG || (status == 0 && content.length > queue->options.capacity_bytes)) {
		gg_buf_done(&content);
		queue->counts.refused_count++;
		return gg_error_set(error, -EFBIG, "send", NULL,
		                    "its profile of %zu bytes is larger than %s", item->length,
		                    status < 0 ? "a request may be" : "the queue");
	}
	if (status == 0 &&
	    (queue->waiting.count >= WAITING_MAX ||
	     queue->counts.waiting_bytes + content.length > queue->options.capacity_bytes)) {
		gg_buf_done(&content);
		return refuse(queue, "the queue is full", error);
	}
	if (status == 0 && !gg_array_reserve(&queue->waiting, queue->waiting.count + 1))
		status = -ENOMEM;
	if (status == 0 && queue->fd >= 0)
		status = write_file(queue, waiting.number, &content);
	if (status == 0 && queue->fd < 0) {
		waiting.content = content.data;
		content = (struct gg_buf){ 0 };
	} else if (status == 0) {
		gg_buf_done(&queue->last);
		queue->last = content;
		content = (struct gg_buf){ 0 };
	}
	gg_buf_done(&content);
	if (status == -ENOSPC || status == -EDQUOT)
		return refuse(queue, "the disk of the queue is full", error);
	if (status == -EINVAL)
		return gg_error_set(error, -EINVAL, "send", NULL, "this body cannot be queued");
	if (status < 0)
		return gg_error_set_errno(error, -status, "the queue", NULL);
	if (!gg_array_push(&queue->waiting, waiting))
		return gg_error_memory(error, "send");
	queue->counts.waiting_bytes += waiting.bytes;
	*ret_number = waiting.number;
	return 0;
}

/* The body was put last, or nearly so. */
static size_t find_waiting(const struct gg_send_queue *queue, uint64_t number)
{
	size_t i = queue->waiting.count;

	while (i > 0 && queue->waiting.items[i - 1].number != number)
		i--;
	return i > 0 ? i - 1 : SIZE_MAX;
}

void gg_send_queue_cancel(struct gg_send_queue *queue, uint64_t number)
{
	size_t index = find_waiting(queue, number);

	gg_buf_done(&queue->last);
	if (index != SIZE_MAX)
		forget(queue, index);
}

/* --- sending -------------------------------------------------------------------------------- */

static double random_share(struct gg_send_queue *queue)
{
	queue->random = gg_hash_integer(queue->random + 1, UINT64_C(0x9e3779b97f4a7c15));
	return (double)(queue->random >> 11) * 0x1p-53;
}

static uint64_t backoff_ns(struct gg_send_queue *queue, const struct gg_send_answer *answer)
{
	unsigned doublings = queue->failure_count < DOUBLINGS_MAX ? queue->failure_count
	                                                          : DOUBLINGS_MAX;
	double wait_ns = (double)queue->options.backoff_least_ns * (double)(1u << doublings);

	if (wait_ns > (double)queue->options.backoff_most_ns)
		wait_ns = (double)queue->options.backoff_most_ns;
	wait_ns *= 0.8 + 0.4 * random_share(queue);
	/* Zero, or a date that has passed, must not make attempts without a pause. */
	if (answer->retry_after_seconds > 0) {
		wait_ns = (answer->retry_after_seconds < RETRY_AFTER_MAX
		                   ? answer->retry_after_seconds
		                   : RETRY_AFTER_MAX) *
		          (double)GG_NS_PER_S;
		if (wait_ns < (double)queue->options.backoff_least_ns)
			wait_ns = (double)queue->options.backoff_least_ns;
	}
	return (uint64_t)wait_ns;
}

/* "the receiver at http://localhost:4318/v1/profiles", for the begin of a message. */
static void name_receiver(const struct gg_send_queue *queue, char *ret_text, size_t capacity)
{
	bool has_address = queue->options.receiver != NULL;

	snprintf(ret_text, capacity, "the receiver%s%.160s", has_address ? " at " : "",
	         has_address ? queue->options.receiver : "");
}

static void begin_wait(struct gg_send_queue *queue, const struct gg_send_answer *answer,
                       uint64_t now_ns)
{
	char receiver[RECEIVER_MAX], text[512];

	if (queue->failure_count == 0) {
		queue->outage_ns = now_ns;
		name_receiver(queue, receiver, sizeof(receiver));
		snprintf(text, sizeof(text), "%s does not take profiles: %s", receiver,
		         answer->text);
		tell(queue, text);
	}
	queue->due_ns = now_ns + backoff_ns(queue, answer);
	queue->failure_count++;
	queue->counts.failed_count++;
}

static void end_outage(struct gg_send_queue *queue, uint64_t now_ns)
{
	char receiver[RECEIVER_MAX], text[300];

	if (queue->failure_count > 0) {
		name_receiver(queue, receiver, sizeof(receiver));
		snprintf(text, sizeof(text), "%s takes profiles again, after %.0f s; %zu wait",
		         receiver, (double)(now_ns - queue->outage_ns) * 1e-9,
		         queue->waiting.count - 1);
		tell(queue, text);
	}
	queue->failure_count = 0;
	queue->due_ns = 0;
}

static void tell_rejected(struct gg_send_queue *queue, const struct gg_send_item *item,
                          const struct gg_send_answer *answer, const char *what)
{
	char receiver[RECEIVER_MAX], text[600];

	name_receiver(queue, receiver, sizeof(receiver));
	snprintf(text, sizeof(text), "%s rejected %s%.200s: %s", receiver, what, item->about,
	         answer->text);
	tell(queue, text);
}

/* Acts on the answer to an attempt.  Returns false if the queue must wait now. */
static bool settle(struct gg_send_queue *queue, size_t index, const struct gg_send_item *item,
                   const struct gg_send_answer *answer, uint64_t now_ns)
{
	switch (answer->verdict) {
	case GG_SEND_DELIVERED:
		end_outage(queue, now_ns);
		queue->counts.delivered_count++;
		queue->counts.delivered_bytes += item->length;
		queue->counts.partly_count += answer->rejected_count;
		if (answer->rejected_count > 0)
			tell_rejected(queue, item, answer, "a part of ");
		forget(queue, index);
		return true;
	case GG_SEND_REJECTED:
		end_outage(queue, now_ns);
		queue->counts.rejected_count++;
		tell_rejected(queue, item, answer, "");
		forget(queue, index);
		return true;
	case GG_SEND_IN_DOUBT:
		begin_wait(queue, answer, now_ns);
		queue->counts.doubt_count++;
		if (queue->options.drop_in_doubt)
			drop_in_doubt(queue, index, item->about);
		else
			set_state(queue, &queue->waiting.items[index], IS_WAITING);
		return false;
	case GG_SEND_LATER:
		break;
	}
	begin_wait(queue, answer, now_ns);
	set_state(queue, &queue->waiting.items[index], IS_WAITING);
	return false;
}

/* Makes one attempt for a body.  Returns false if the queue must wait now. */
static bool attempt(struct gg_send_queue *queue, size_t index, uint64_t now_ns)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf bytes = { 0 };
	struct gg_send_answer answer = { .verdict = GG_SEND_LATER, .retry_after_seconds = -1 };
	uint64_t start_ns = gg_clock_monotonic_ns();
	struct gg_send_item item;
	int status = load(queue, &queue->waiting.items[index], &bytes, &item);

	if (status == -EBADMSG) {
		drop_damaged(queue, index);
		return true;
	}
	if (status < 0) {
		snprintf(answer.text, sizeof(answer.text), "a file of the queue: %s",
		         strerror(-status));
		begin_wait(queue, &answer, now_ns);
		return false;
	}
	if (!set_state(queue, &queue->waiting.items[index], IS_SENT)) {
		/* An attempt that a kill would hide could be made twice. */
		snprintf(answer.text, sizeof(answer.text), "the queue's files cannot be renamed");
		begin_wait(queue, &answer, now_ns);
		return false;
	}
	queue->options.deliver(&item, &answer, queue->options.context);
	return settle(queue, index, &item, &answer, now_ns + gg_clock_monotonic_ns() - start_ns);
}

void gg_send_queue_commit(struct gg_send_queue *queue, uint64_t number, bool sends_now)
{
	size_t index = find_waiting(queue, number);
	uint64_t now_ns = gg_clock_monotonic_ns();

	if (index == SIZE_MAX)
		return;
	/* If the file cannot be renamed, the memory and the caller's note know that it counts. */
	queue->waiting.items[index].is_committed = true;
	/* The file need not say that the body waits if an attempt begins at once. */
	if (sends_now && index == 0 && queue->due_ns <= now_ns)
		attempt(queue, index, now_ns);
	index = find_waiting(queue, number);
	if (index != SIZE_MAX && queue->waiting.items[index].state == IS_NEW)
		set_state(queue, &queue->waiting.items[index], IS_WAITING);
	gg_buf_done(&queue->last);
}

uint64_t gg_send_queue_pump(struct gg_send_queue *queue, uint64_t now_ns, uint64_t until_ns)
{
	bool was_tried = false;
	uint64_t start_ns = gg_clock_monotonic_ns();
	size_t index = 0;

	while (index < queue->waiting.count) {
		uint64_t at_ns = now_ns + gg_clock_monotonic_ns() - start_ns;

		if (queue->due_ns > at_ns)
			return queue->due_ns - at_ns;
		if (!queue->waiting.items[index].is_committed) {
			index++;
			continue;
		}
		if ((was_tried && at_ns >= until_ns) ||
		    (queue->options.is_stopped != NULL &&
		     queue->options.is_stopped(queue->options.context)))
			return 0;
		was_tried = true;
		if (!attempt(queue, index, at_ns)) {
			at_ns = now_ns + gg_clock_monotonic_ns() - start_ns;
			return queue->due_ns > at_ns ? queue->due_ns - at_ns : 1;
		}
	}
	return UINT64_MAX;
}

struct gg_send_counts gg_send_queue_counts(const struct gg_send_queue *queue)
{
	struct gg_send_counts counts = queue->counts;

	counts.waiting_count = queue->waiting.count;
	return counts;
}
