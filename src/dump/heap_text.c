/* SPDX-License-Identifier: Apache-2.0 */
/* heap_text - formats numbers, sums and addresses into the dump's buffer, and flushes it. */
#include "dump/heap_text.h"

#include <string.h>

#include "stats/sampling/elementary.h"

/* After the first failure it only empties the buffer, so callers need not check each call. */
static void flush(struct gg_dump *dump)
{
	if (dump->status == 0 && dump->length > 0)
		dump->status = dump->flush(dump->context, dump->buffer, dump->length);
	dump->length = 0;
}

void gg_dump_bytes(struct gg_dump *dump, const char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (dump->length == dump->capacity)
			flush(dump);
		dump->buffer[dump->length++] = bytes[i];
	}
}

static void put_text(struct gg_dump *dump, const char *text)
{
	gg_dump_bytes(dump, text, strlen(text));
}

/* Writes a number with at least `width` characters, padded with `fill` on the left. */
static void put_number(struct gg_dump *dump, uint64_t value, unsigned base, size_t width, char fill)
{
	char digits[32];
	size_t at = sizeof(digits);

	do {
		digits[--at] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value != 0);
	while (sizeof(digits) - at < width)
		digits[--at] = fill;
	gg_dump_bytes(dump, digits + at, sizeof(digits) - at);
}

/* Rounds to a whole number from 0 to 2^62; NaN becomes 0. */
static uint64_t rounded(double value)
{
	if (!(value > 0))
		return 0;
	return value < 0x1p62 ? (uint64_t)(value + 0.5) : UINT64_C(1) << 62;
}

static uint64_t one_at_least(double value)
{
	uint64_t whole = rounded(value);

	return whole > 0 ? whole : 1;
}

struct gg_dump_number gg_dump_number_of(const struct gg_dump_amount *amount, double interval)
{
	double mean_bytes;
	uint64_t count;

	if (!(amount->count > 0))
		return (struct gg_dump_number){ 0 };
	/* Readers take the numbers of this text as they are. */
	if (!(interval > 0))
		return (struct gg_dump_number){ one_at_least(amount->count),
			                        rounded(amount->bytes) };
	/* Readers divide by the bytes, so a record of empty blocks must not appear. */
	if (!(amount->bytes > 0))
		return (struct gg_dump_number){ 0 };
	/*
	 * Undo in advance what readers do (heap_text.h): they multiply by 1/(1 - exp(-mean/R)).
	 * The bytes follow from the rounded count, so that the mean size stays exact.
	 */
	mean_bytes = amount->bytes / amount->count;
	count = one_at_least(amount->count * -gg_expm1(-mean_bytes / interval));
	return (struct gg_dump_number){ count, one_at_least((double)count * mean_bytes) };
}

/* Writes the live and allocated counts and bytes, as in "3: 192 [5: 320]". */
static void put_sums(struct gg_dump *dump, const struct gg_dump_sums *sums, size_t count_width,
                     size_t bytes_width)
{
	struct gg_dump_number live = gg_dump_number_of(&sums->live, dump->interval_bytes);
	struct gg_dump_number allocated = gg_dump_number_of(&sums->allocated, dump->interval_bytes);

	put_number(dump, live.count, 10, count_width, ' ');
	put_text(dump, ": ");
	put_number(dump, live.bytes, 10, bytes_width, ' ');
	put_text(dump, " [");
	put_number(dump, allocated.count, 10, count_width, ' ');
	put_text(dump, ": ");
	put_number(dump, allocated.bytes, 10, bytes_width, ' ');
	put_text(dump, "]");
}

static void put_addresses(struct gg_dump *dump, const uint64_t *addresses, size_t count)
{
	put_text(dump, "@");
	for (size_t i = 0; i < count; i++) {
		put_text(dump, " 0x");
		put_number(dump, addresses[i], 16, 1, '0');
	}
	put_text(dump, "\n");
}

void gg_dump_heap_v2(struct gg_dump *dump, double interval_bytes, const struct gg_dump_sums *total)
{
	uint64_t interval = one_at_least(interval_bytes);

	dump->interval_bytes = (double)interval;
	put_text(dump, "heap_v2/");
	put_number(dump, interval, 10, 1, ' ');
	put_text(dump, "\n");
	gg_dump_total(dump, total);
}

void gg_dump_stack(struct gg_dump *dump, const uint64_t *addresses, size_t count)
{
	put_addresses(dump, addresses, count);
}

void gg_dump_total(struct gg_dump *dump, const struct gg_dump_sums *sums)
{
	put_text(dump, "  t*: ");
	put_sums(dump, sums, 1, 1);
	put_text(dump, "\n");
}

void gg_dump_thread(struct gg_dump *dump, uint64_t thread, const struct gg_dump_sums *sums,
                    const char *name)
{
	put_text(dump, "  t");
	put_number(dump, thread, 10, 1, ' ');
	put_text(dump, ": ");
	put_sums(dump, sums, 1, 1);
	if (name != NULL && name[0] != '\0') {
		put_text(dump, " ");
		for (; *name != '\0'; name++)
			gg_dump_bytes(dump, (unsigned char)*name < ' ' ? "?" : name, 1);
	}
	put_text(dump, "\n");
}

void gg_dump_gperftools(struct gg_dump *dump, const struct gg_dump_sums *total)
{
	dump->interval_bytes = 0;
	put_text(dump, "heap profile: ");
	put_sums(dump, total, 6, 8);
	put_text(dump, " @ heapprofile\n");
}

void gg_dump_record(struct gg_dump *dump, const struct gg_dump_sums *sums,
                    const uint64_t *addresses, size_t count)
{
	put_sums(dump, sums, 6, 8);
	put_text(dump, " ");
	put_addresses(dump, addresses, count);
}

void gg_dump_mappings(struct gg_dump *dump)
{
	put_text(dump, "\nMAPPED_LIBRARIES:\n");
}

/*
 * Escapes control characters in octal, as the kernel writes "\012" for a newline in
 * /proc/PID/maps: a path with a newline must not add lines to the list.
 */
static void put_path(struct gg_dump *dump, const char *path)
{
	for (; *path != '\0'; path++) {
		unsigned char c = (unsigned char)*path;

		if (c >= ' ' && c != 0x7f) {
			gg_dump_bytes(dump, path, 1);
			continue;
		}
		put_text(dump, "\\");
		put_number(dump, c, 8, 3, '0');
	}
}

void gg_dump_mapping(struct gg_dump *dump, uint64_t start, uint64_t end, const char *rights,
                     uint64_t file_offset, const char *path)
{
	put_number(dump, start, 16, 8, '0');
	put_text(dump, "-");
	put_number(dump, end, 16, 8, '0');
	put_text(dump, " ");
	put_text(dump, rights);
	put_text(dump, " ");
	put_number(dump, file_offset, 16, 8, '0');
	put_text(dump, " 00:00 0    ");
	put_path(dump, path);
	put_text(dump, "\n");
}

int gg_dump_end(struct gg_dump *dump)
{
	flush(dump);
	return dump->status;
}
