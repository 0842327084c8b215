/* SPDX-License-Identifier: Apache-2.0 */
/* sent_totals - subtracts from an extract what was sent, and keeps the new totals in a file. */
#include "send/sent_totals.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "format/codec/quick_crc32.h"
#include "format/codec/stable_hash.h"

#define MAGIC UINT64_C(0x31746e6573676721) /* "!ggsent1" */
enum { ROWS_MAX = 1 << 24 };

/* A file: this head and the rows.  It never leaves its machine. */
struct sent_head {
	uint64_t magic, head_bytes, sum; /* sum: CRC-32 of all that follows */
	uint64_t number;
	int64_t until_ns;
	uint64_t is_final, row_count;
	struct gg_plain_tally total;
};

void gg_sent_totals_done(struct gg_sent_totals *totals)
{
	gg_array_done(&totals->rows);
	*totals = (struct gg_sent_totals){ 0 };
}

static int compare_sent(const void *a, const void *b)
{
	const struct gg_sent_row *left = a, *right = b;

	return (left->key > right->key) - (left->key < right->key);
}

/* Most rows are in their order already. */
static void sort_rows(struct gg_sent_row *rows, size_t count)
{
	size_t i = 1;

	while (i < count && rows[i - 1].key <= rows[i].key)
		i++;
	if (i < count)
		qsort(rows, count, sizeof(*rows), compare_sent);
}

int gg_sent_totals_copy(struct gg_sent_totals *ret_copy, const struct gg_sent_totals *totals)
{
	struct gg_sent_totals copy = *totals;
	size_t count = totals->rows.count;

	memset(&copy.rows, 0, sizeof(copy.rows));
	if (!gg_array_reserve(&copy.rows, count + 1))
		return -ENOMEM;
	if (count > 0)
		memcpy(copy.rows.items, totals->rows.items, count * sizeof(*copy.rows.items));
	sort_rows(copy.rows.items, count);
	copy.rows.count = count;
	*ret_copy = copy;
	return 0;
}

/* --- the file ------------------------------------------------------------------------------- */

static uint64_t sum_of(const char *bytes, size_t length)
{
	size_t start = offsetof(struct sent_head, number);

	return gg_quick_crc32(bytes + start, length - start);
}

static int read_bytes(int fd, struct gg_buf *bytes)
{
	struct stat file;

	if (fstat(fd, &file) < 0)
		return -errno;
	if (!S_ISREG(file.st_mode) || file.st_size < (off_t)sizeof(struct sent_head) ||
	    (uint64_t)file.st_size >
	            sizeof(struct sent_head) + (uint64_t)ROWS_MAX * sizeof(struct gg_sent_row))
		return -EBADMSG;
	if (!gg_buf_reserve(bytes, (size_t)file.st_size))
		return -ENOMEM;
	while (bytes->length < (size_t)file.st_size) {
		ssize_t count = read(fd, bytes->data + bytes->length,
		                     (size_t)file.st_size - bytes->length);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return count < 0 ? -errno : -EBADMSG;
		bytes->length += (size_t)count;
	}
	return 0;
}

static int parse(struct gg_sent_totals *totals, const struct gg_buf *bytes)
{
	struct sent_head head;
	size_t rows_bytes = bytes->length - sizeof(head);

	memcpy(&head, bytes->data, sizeof(head));
	if (head.magic != MAGIC || head.head_bytes != sizeof(head) ||
	    head.sum != sum_of(bytes->data, bytes->length) ||
	    head.row_count != rows_bytes / sizeof(struct gg_sent_row) ||
	    rows_bytes % sizeof(struct gg_sent_row) != 0)
		return -EBADMSG;
	if (!gg_array_reserve(&totals->rows, head.row_count + 1))
		return -ENOMEM;
	memcpy(totals->rows.items, bytes->data + sizeof(head), rows_bytes);
	totals->rows.count = head.row_count;
	sort_rows(totals->rows.items, head.row_count);
	totals->number = head.number;
	totals->until_ns = head.until_ns;
	totals->is_final = head.is_final != 0;
	totals->total = head.total;
	return 0;
}

int gg_sent_totals_read(struct gg_sent_totals *totals, int directory, const char *name,
                        struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf bytes = { 0 };
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), status;

	*totals = (struct gg_sent_totals){ 0 };
	if (fd < 0)
		return gg_error_set_errno(error, errno, name, NULL);
	status = read_bytes(fd, &bytes);
	close(fd);
	if (status == 0)
		status = parse(totals, &bytes);
	if (status == -EBADMSG)
		return gg_error_set(error, status, name, NULL, "the file is damaged");
	return status < 0 ? gg_error_set_errno(error, -status, name, NULL) : 0;
}

int gg_sent_totals_write(const struct gg_sent_totals *totals, int directory, const char *name,
                         struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf bytes = { 0 };
	struct sent_head head = { .magic = MAGIC,
		                  .head_bytes = sizeof(head),
		                  .number = totals->number,
		                  .until_ns = totals->until_ns,
		                  .is_final = totals->is_final,
		                  .row_count = totals->rows.count,
		                  .total = totals->total };
	char part[300];
	int fd, status = 0;

	gg_buf_append(&bytes, &head, sizeof(head));
	gg_buf_append(&bytes, totals->rows.items, totals->rows.count * sizeof(struct gg_sent_row));
	if (bytes.failed)
		return gg_error_memory(error, name);
	/* Earlier versions search in the file's order. */
	sort_rows((struct gg_sent_row *)(bytes.data + sizeof(head)), totals->rows.count);
	head.sum = sum_of(bytes.data, bytes.length);
	memcpy(bytes.data, &head, sizeof(head));
	snprintf(part, sizeof(part), "%s.part", name);
	fd = openat(directory, part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return gg_error_set_errno(error, errno, name, NULL);
	for (size_t at = 0; status == 0 && at < bytes.length;) {
		ssize_t count = write(fd, bytes.data + at, bytes.length - at);

		if (count > 0)
			at += (size_t)count;
		else if (count == 0 || errno != EINTR)
			status = count < 0 ? -errno : -EIO;
	}
	if (close(fd) < 0 && status == 0)
		status = -errno;
	if (status == 0 && renameat(directory, part, directory, name) < 0)
		status = -errno;
	if (status < 0) {
		unlinkat(directory, part, 0);
		return gg_error_set_errno(error, -status, name, NULL);
	}
	return 0;
}

/* --- differences ---------------------------------------------------------------------------- */

static uint64_t hash_number(uint64_t hash, uint64_t number)
{
	for (int i = 0; i < 8; i++)
		hash = (hash ^ (number >> (8 * i) & 0xff)) * UINT64_C(0x100000001b3);
	return hash;
}

uint64_t gg_sent_key(const struct gg_model *model, uint32_t stack)
{
	uint64_t hash = GG_STABLE_HASH_START;

	for (; stack != 0; stack = model->stacks[stack].parent) {
		const struct gg_model_frame *frame = gg_model_stack_frame(model, stack);

		hash = gg_stable_hash_text(hash, model->modules[frame->module].path);
		hash = hash_number(hash, frame->address);
	}
	return hash;
}

static struct gg_sent_row *find_sent(const struct gg_sent_totals *totals, uint64_t key)
{
	struct gg_sent_row wanted = { .key = key };

	if (totals->rows.count == 0)
		return NULL;
	return bsearch(&wanted, totals->rows.items, totals->rows.count, sizeof(wanted),
	               compare_sent);
}

static void estimate_of(const struct gg_plain_tally *sums, double *ret_bytes, double *ret_count)
{
	struct gg_tally tally;

	gg_plain_tally_tally(sums, &tally);
	*ret_bytes = gg_tally_estimate(&tally, GG_BYTES).value;
	*ret_count = gg_tally_estimate(&tally, GG_ALLOCATIONS).value;
}

static double less(double now, double then)
{
	return now > then ? now - then : 0;
}

static void subtract_moments(struct gg_plain_moments *now, const struct gg_plain_moments *then)
{
	now->seen = less(now->seen, then->seen);
	now->value = less(now->value, then->value);
	now->variance = less(now->variance, then->variance);
	now->skew = less(now->skew, then->skew);
}

/* Maxima stay: the difference was exposed to them at most. */
void gg_sent_subtract(struct gg_plain_tally *now, const struct gg_plain_tally *then)
{
	now->sample_count = less(now->sample_count, then->sample_count);
	now->sample_point_count = less(now->sample_point_count, then->sample_point_count);
	for (int i = 0; i < GG_QUANTITY_COUNT; i++) {
		subtract_moments(&now->usual[i], &then->usual[i]);
		subtract_moments(&now->sure[i], &then->sure[i]);
		subtract_moments(&now->uncertain[i], &then->uncertain[i]);
		now->skew_slack[i] = less(now->skew_slack[i], then->skew_slack[i]);
	}
	now->failed_bytes = less(now->failed_bytes, then->failed_bytes);
	now->failed_variance = less(now->failed_variance, then->failed_variance);
}

/*
 * Two rows may have one key: code that a module had before another one took its address.  Equal
 * keys are neighbors here, and become one row.
 */
static size_t join_equal(struct gg_sent_row *rows, size_t count)
{
	size_t last = 0;

	if (count == 0)
		return 0;
	sort_rows(rows, count);
	for (size_t i = 1; i < count; i++) {
		if (rows[i].key == rows[last].key) {
			rows[last].bytes += rows[i].bytes;
			rows[last].count += rows[i].count;
		} else {
			rows[++last] = rows[i];
		}
	}
	return last + 1;
}

/* Scales differences whose sum exceeds that of the total: rows have changed their keys. */
static void bound_rows(struct gg_extract *extract, double total_bytes, double total_count)
{
	double bytes = 0, count = 0, slack = (double)extract->row_count + 1;

	for (size_t i = 0; i < extract->row_count; i++) {
		bytes += (double)extract->rows[i].allocated.bytes;
		count += (double)extract->rows[i].allocated.count;
	}
	for (size_t i = 0; i < extract->row_count; i++) {
		struct gg_extract_sum *sum = &extract->rows[i].allocated;

		if (bytes > total_bytes * (1 + 1e-9) + slack)
			sum->bytes = gg_extract_whole((double)sum->bytes * total_bytes / bytes);
		if (count > total_count * (1 + 1e-9) + slack)
			sum->count = gg_extract_whole((double)sum->count * total_count / count);
	}
}

/* The rows of the totals that the extract lacks stay: their stacks may come again. */
static bool keep_missing(struct gg_sent_totals *now, const struct gg_sent_totals *then)
{
	size_t count = now->rows.count;

	for (size_t i = 0; i < then->rows.count; i++) {
		struct gg_sent_row wanted = then->rows.items[i];

		if ((count == 0 || bsearch(&wanted, now->rows.items, count, sizeof(wanted),
		                           compare_sent) == NULL) &&
		    !gg_array_push(&now->rows, wanted))
			return false;
	}
	sort_rows(now->rows.items, now->rows.count);
	return true;
}

/* A row of the totals that several rows of the extract share is subtracted from the first ones. */
static uint64_t take(uint64_t now, uint64_t *sent)
{
	uint64_t taken = now < *sent ? now : *sent;

	*sent -= taken;
	return now - taken;
}

/* More was sent of such a row than it has, so its next growth was sent already. */
static void add_leftovers(struct gg_sent_totals *now, const struct gg_sent_totals *then)
{
	for (size_t i = 0; i < now->rows.count; i++) {
		const struct gg_sent_row *left = find_sent(then, now->rows.items[i].key);

		if (left != NULL) {
			now->rows.items[i].bytes += left->bytes;
			now->rows.items[i].count += left->count;
		}
	}
}

int gg_sent_totals_subtract(struct gg_sent_totals *totals, struct gg_extract *extract,
                            struct gg_error *error)
{
	struct gg_sent_totals now = { .number = totals->number, .until_ns = totals->until_ns };
	struct gg_plain_tally difference;
	double bytes, count, sent_bytes, sent_count;

	if (!gg_array_reserve(&now.rows, extract->row_count + totals->rows.count + 1))
		return gg_error_memory(error, "send");
	for (size_t i = 0; i < extract->row_count; i++) {
		struct gg_extract_sum *sum = &extract->rows[i].allocated;

		gg_plain_tally_add(&now.total, &sum->tally);
		estimate_of(&sum->tally, &bytes, &count);
		sum->bytes = gg_extract_whole(bytes);
		sum->count = gg_extract_whole(count);
		gg_array_push(&now.rows, (struct gg_sent_row){ gg_sent_key(extract->model,
		                                                           extract->rows[i].stack),
		                                               sum->bytes, sum->count });
	}
	extract->allocated_bytes = extract->allocated_count = 0;
	for (size_t i = 0; i < extract->row_count; i++) {
		struct gg_extract_sum *sum = &extract->rows[i].allocated;
		struct gg_sent_row *sent = find_sent(totals, now.rows.items[i].key);

		if (sent == NULL)
			continue;
		sum->bytes = take(sum->bytes, &sent->bytes);
		sum->count = take(sum->count, &sent->count);
	}
	now.rows.count = join_equal(now.rows.items, now.rows.count);
	add_leftovers(&now, totals);
	estimate_of(&now.total, &bytes, &count);
	estimate_of(&totals->total, &sent_bytes, &sent_count);
	bound_rows(extract, less(bytes, sent_bytes), less(count, sent_count));
	difference = now.total;
	gg_sent_subtract(&difference, &totals->total);
	for (size_t i = 0; i < extract->row_count; i++) {
		extract->allocated_bytes += extract->rows[i].allocated.bytes;
		extract->allocated_count += extract->rows[i].allocated.count;
		extract->rows[i].allocated.tally = i == 0 ? difference
		                                          : (struct gg_plain_tally){ 0 };
	}
	gg_plain_tally_tally(&difference, &extract->allocated);
	gg_extract_expose(extract, false, &extract->allocated);
	if (!keep_missing(&now, totals)) {
		gg_sent_totals_done(&now);
		return gg_error_memory(error, "send");
	}
	gg_sent_totals_done(totals);
	*totals = now;
	return 0;
}
