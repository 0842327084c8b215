/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_outline - writes the samples of a profile, and what its dictionary has of its own. */
#include "format/export/otlp_outline.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "format/codec/otlp_schema.h"
#include "format/codec/wire_writer.h"

enum {
	SAMPLE_BYTES_MAX = 2 + 6 + 2 + GG_VARINT_BYTES_MAX,
	OWN_MAX = 2 * GG_OTLP_VALUE_COUNT, /* attributes of a profile's totals */
};

void gg_otlp_outline_done(struct gg_otlp_outline *outline)
{
	gg_buf_done(&outline->resource);
	gg_buf_done(&outline->scope);
	for (size_t i = 0; i < GG_OTLP_VALUE_COUNT; i++)
		gg_buf_done(&outline->types[i]);
	gg_buf_done(&outline->period);
	gg_buf_done(&outline->tables);
	gg_buf_done(&outline->attributes);
	*outline = (struct gg_otlp_outline){ 0 };
}

/* --- attributes ----------------------------------------------------------------------------- */

/* Attributes that the outline does not have: ends of confidence intervals. */
struct own_attributes {
	const struct gg_otlp_outline *outline;
	struct {
		uint32_t key, unit;
		uint64_t bits;
	} items[OWN_MAX];
	uint32_t count;
};

/* Returns the attribute's index in the dictionary; equal attributes are one. */
static uint32_t own_attribute(struct own_attributes *own, uint32_t key, double value, uint32_t unit)
{
	uint64_t bits;
	uint32_t i = 0;

	memcpy(&bits, &value, sizeof(bits));
	while (i < own->count && (own->items[i].key != key || own->items[i].unit != unit ||
	                          own->items[i].bits != bits))
		i++;
	if (i == own->count) {
		own->items[i].key = key;
		own->items[i].unit = unit;
		own->items[i].bits = bits;
		own->count++;
	}
	return own->outline->attribute_count + i;
}

static bool has_key(const struct own_attributes *own, uint32_t key)
{
	for (uint32_t i = 0; i < own->count; i++)
		if (own->items[i].key == key)
			return true;
	return false;
}

static void put_own_attributes(const struct own_attributes *own, struct gg_buf *out)
{
	for (uint32_t i = 0; i < own->count; i++) {
		size_t message = gg_wire_begin(out, GG_OTLP_TABLE_ATTRIBUTE), value;

		gg_wire_put_nonzero(out, GG_OTLP_ATTRIBUTE_KEY, own->items[i].key);
		value = gg_wire_begin(out, GG_OTLP_ATTRIBUTE_VALUE);
		gg_wire_put_fixed(out, GG_OTLP_ANY_DOUBLE, own->items[i].bits);
		gg_wire_end(out, value);
		gg_wire_put_nonzero(out, GG_OTLP_ATTRIBUTE_UNIT, own->items[i].unit);
		gg_wire_end(out, message);
	}
}

/* --- samples -------------------------------------------------------------------------------- */

static bool has_values(const struct gg_otlp_values *values)
{
	return (values->items[0] | values->items[1] | values->items[2] | values->items[3]) != 0;
}

/* Writes a sample: lengths are below 128, so each takes a byte. */
static uint8_t *encode_sample(uint8_t *at, uint32_t slot, uint64_t value)
{
	uint8_t *message = at + 2, *packed;

	at[0] = GG_OTLP_PROFILE_SAMPLE << 3 | GG_WIRE_BYTES;
	at = message;
	if (slot != 0) {
		*at++ = GG_OTLP_SAMPLE_STACK << 3 | GG_WIRE_VARINT;
		at += gg_varint_encode(at, slot);
	}
	*at = GG_OTLP_SAMPLE_VALUE << 3 | GG_WIRE_BYTES;
	packed = at + 2;
	at = packed + gg_varint_encode(packed, value);
	packed[-1] = (uint8_t)(at - packed);
	message[-1] = (uint8_t)(at - message);
	return at;
}

static void put_samples(const struct gg_otlp_outline *outline, const struct gg_otlp_values *values,
                        size_t which, struct gg_buf *out)
{
	uint8_t *start, *at;

	if (!gg_buf_reserve(out, (outline->slot_count + 1) * SAMPLE_BYTES_MAX))
		return;
	start = at = (uint8_t *)out->data + out->length;
	for (size_t i = 0; i < outline->slot_count; i++) {
		uint64_t value = values[i].items[which];

		if (value != 0 || (which == 0 && i > 0 && !has_values(&values[i])))
			at = encode_sample(at, (uint32_t)i, value);
	}
	out->length += (size_t)(at - start);
	out->data[out->length] = '\0';
}

/* --- profiles ------------------------------------------------------------------------------- */

static void append(struct gg_buf *out, const struct gg_buf *bytes)
{
	gg_buf_append(out, gg_buf_text(bytes), bytes->length);
}

static void put_profile(struct own_attributes *own, const struct gg_otlp_values *values,
                        const struct gg_otlp_moment *moment, size_t which, struct gg_buf *out)
{
	const struct gg_otlp_outline *outline = own->outline;
	size_t message = gg_wire_begin(out, GG_OTLP_SCOPE_PROFILES_PROFILE), packed;
	uint64_t id[2] = { moment->identity, gg_hash_integer(moment->identity, which + 1) };
	struct gg_interval interval;
	struct gg_tally tally;

	append(out, &outline->types[which]);
	put_samples(outline, values, which, out);
	gg_wire_put_fixed(out, GG_OTLP_PROFILE_TIME_NS, moment->time_ns);
	gg_wire_put_nonzero(out, GG_OTLP_PROFILE_DURATION_NS, moment->duration_ns);
	append(out, &outline->period);
	gg_wire_put_bytes(out, GG_OTLP_PROFILE_ID, id, sizeof(id));
	gg_plain_tally_tally(which < 2 ? moment->live : moment->allocated, &tally);
	gg_tally_expose(&tally, outline->interval_bytes);
	if (outline->is_lacking)
		tally.incomplete = 1;
	interval = gg_interval_of(&tally, which % 2 == 0 ? GG_BYTES : GG_ALLOCATIONS,
	                          outline->confidence_level, false);
	packed = gg_wire_begin(out, GG_OTLP_PROFILE_ATTRIBUTE);
	if (isfinite(interval.low))
		gg_varint_append(out, own_attribute(own, outline->low_key, interval.low,
		                                    outline->units[which]));
	if (isfinite(interval.high))
		gg_varint_append(out, own_attribute(own, outline->high_key, interval.high,
		                                    outline->units[which]));
	gg_varint_append(out, outline->confidence);
	gg_varint_append(out, outline->metric);
	gg_wire_end(out, packed);
	gg_wire_end(out, message);
}

int gg_otlp_outline_write(const struct gg_otlp_outline *outline,
                          const struct gg_otlp_values *values, const struct gg_otlp_moment *moment,
                          size_t tables_bytes, struct gg_buf *head, struct gg_buf *tail)
{
	struct own_attributes own = { .outline = outline };
	size_t resource = gg_wire_begin(head, GG_OTLP_DATA_RESOURCE_PROFILES), scope;

	append(head, &outline->resource);
	scope = gg_wire_begin(head, GG_OTLP_RESOURCE_PROFILES_SCOPE_PROFILES);
	append(head, &outline->scope);
	for (size_t which = 0; which < GG_OTLP_VALUE_COUNT; which++)
		put_profile(&own, values, moment, which, head);
	gg_wire_end(head, scope);
	gg_wire_end(head, resource);
	append(tail, &outline->attributes);
	put_own_attributes(&own, tail);
	gg_wire_append_tag(head, GG_OTLP_DATA_DICTIONARY, GG_WIRE_BYTES);
	gg_varint_append(head, tables_bytes + tail->length);
	if (!has_key(&own, outline->low_key) ||
	    (!outline->is_lacking && !has_key(&own, outline->high_key)))
		return -EDOM; /* the dictionary has a key that no attribute would have */
	return head->failed || tail->failed ? -ENOMEM : 0;
}
