/* SPDX-License-Identifier: Apache-2.0 */
/* ring - writes events into the ring of the file, and reads them from another process. */
#include "region/ring.h"

#include <errno.h>
#include <unistd.h>

#include "base/assert.h"
#include "region/writer/space.h"
#include "region/writer/step.h"

/*
 * A writer gives up after CLAIM_TRIES lost races for the head, so its time is bounded even if many
 * threads write.
 */
enum { CLAIM_TRIES = 16, PLACES_AHEAD = 4 };

/* Records of the ring are first used in their order, so their space grows with the head. */
static inline bool has_space(struct gg_region *region, uint32_t place)
{
	const struct gg_region_space *ring = &region->tables[GG_TABLE_RING];
	uint64_t end = ((uint64_t)place + 1) * sizeof(struct gg_region_event);

	/* Acquire: pairs with the thread that reserved the space. */
	return gg_likely(end <= gg_load_acquire(&ring->reserved_bytes)) ||
	       gg_region_space_reserve(region, GG_TABLE_RING, place + 1);
}

/*
 * Prefetches a place for writing: its first and its last byte, because an event may span two cache
 * lines.
 */
static void prefetch_place(const struct gg_region *region, uint64_t number)
{
	uint32_t capacity = region->tables[GG_TABLE_RING].capacity;
	const struct gg_region_event *place = gg_region_at(region, GG_TABLE_RING,
	                                                   (uint32_t)number & (capacity - 1));

	__builtin_prefetch(place, 1);
	__builtin_prefetch((const uint8_t *)(place + 1) - 1, 1);
}

void gg_ring_put(struct gg_region *region, const struct gg_region_event *event)
{
	struct gg_region_header *header = region->header;
	uint32_t capacity = region->tables[GG_TABLE_RING].capacity;
	uint64_t head = gg_load_relaxed(&header->ring_head);
	struct gg_region_event *place;

	gg_assert(capacity > 0 && (capacity & (capacity - 1)) == 0);
	for (int tries = 0;; tries++) {
		/* Acquire: pairs with the reader, which has copied all records before its tail. */
		if (head - gg_load_acquire(&header->ring_tail) >= capacity ||
		    tries == CLAIM_TRIES || !has_space(region, (uint32_t)head & (capacity - 1))) {
			gg_region_count(region, GG_COUNT_DROP_EVENTS, 1);
			return;
		}
		if (gg_cas_acq_rel(&header->ring_head, &head, head + 1))
			break;
	}
	place = gg_region_at(region, GG_TABLE_RING, (uint32_t)head & (capacity - 1));
	gg_put_words(&place->time_ns, &event->time_ns,
	             sizeof(*event) - offsetof(struct gg_region_event, time_ns));
	/* Release: a reader that sees the number sees the event. */
	gg_store_release(&place->sequence, head + 1);
	gg_region_count(region, GG_COUNT_EVENTS, 1);
	/* The reader's processor may have the next records in its cache, so fetch them early. */
	prefetch_place(region, head + PLACES_AHEAD);
}

static int read_at(int fd, void *to, size_t bytes, uint64_t offset)
{
	ssize_t got;

	do
		got = pread(fd, to, bytes, (off_t)offset);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	return (size_t)got == bytes ? 0 : -EBADMSG;
}

int gg_ring_open(struct gg_ring_reader *ret_reader, int fd)
{
	struct gg_region_header header;
	const struct gg_region_table *table = gg_region_table_of(&header, GG_TABLE_RING);
	int status = read_at(fd, &header, sizeof(header), 0);

	if (status < 0)
		return status;
	if (header.magic != GG_REGION_MAGIC || header.version < GG_REGION_VERSION_LEAST ||
	    header.version > GG_REGION_VERSION ||
	    table->record_bytes != sizeof(struct gg_region_event) || table->capacity == 0 ||
	    (table->capacity & (table->capacity - 1)) != 0 || table->capacity > 1 << 24 ||
	    table->offset > header.file_bytes || header.file_bytes > INT64_MAX)
		return -EBADMSG;
	*ret_reader = (struct gg_ring_reader){
		.fd = fd,
		.offset = table->offset,
		.capacity = table->capacity,
		.tail = header.ring_tail,
		.end = UINT64_MAX,
	};
	return 0;
}

/* Reads the records [first, first + count), which must not wrap. */
static int read_places(const struct gg_ring_reader *reader, struct gg_region_event *events,
                       uint64_t first, uint64_t count)
{
	return read_at(reader->fd, events, count * sizeof(*events),
	               reader->offset + (first & (reader->capacity - 1)) * sizeof(*events));
}

uint64_t gg_ring_head(const struct gg_ring_reader *reader)
{
	uint64_t head;

	if (read_at(reader->fd, &head, sizeof(head), offsetof(struct gg_region_header, ring_head)) <
	    0)
		return 0;
	return head;
}

int gg_ring_read(struct gg_ring_reader *reader, struct gg_region_event *events, int max, bool final)
{
	uint64_t head, count, published = 0, kept = 0;
	int status = read_at(reader->fd, &head, sizeof(head),
	                     offsetof(struct gg_region_header, ring_head));

	gg_assert(max > 0 && reader->capacity > 0);
	if (status < 0)
		return status;
	count = head - reader->tail;
	if (count > reader->capacity)
		return -EBADMSG; /* no writer stores such a head */
	if (head > reader->end)
		count = reader->end > reader->tail ? reader->end - reader->tail : 0;
	/* One call reads up to the end of the table; the next call begins at its start. */
	count = count < (uint64_t)max ? count : (uint64_t)max;
	if (count > reader->capacity - (reader->tail & (reader->capacity - 1)))
		count = reader->capacity - (reader->tail & (reader->capacity - 1));
	if (count == 0)
		return 0;
	/*
	 * Read twice.  An event whose number is there at the first reading was stored before, so
	 * the second reading gets it whole.  A single reading copies words in no defined order, so
	 * it could combine the number with older words of the event.
	 */
	status = read_places(reader, events, reader->tail, count);
	while (status == 0 && published < count &&
	       (final || events[published].sequence == reader->tail + published + 1))
		published++;
	if (status == 0 && published > 0)
		status = read_places(reader, events, reader->tail, published);
	if (status < 0)
		return status;
	/*
	 * With `final` some places may not be published: their writers died.  A damaged file can
	 * have any number.  Both are skipped and counted.
	 */
	for (uint64_t i = 0; i < published; i++) {
		if (events[i].sequence == reader->tail + i + 1)
			events[kept++] = events[i];
		else
			reader->lost_count++;
	}
	/*
	 * The reader keeps its own tail and never reads it back, because the file may be hostile.
	 */
	gg_assert(kept <= published && published <= count);
	reader->tail += published;
	if (pwrite(reader->fd, &reader->tail, sizeof(reader->tail),
	           offsetof(struct gg_region_header, ring_tail)) != sizeof(reader->tail))
		return errno != 0 ? -errno : -EIO;
	return (int)kept;
}
