/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/foreign_request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "format/codec/json_reader.h"
#include "format/codec/wire.h"

/* Labels of a series while it is being read; its texts belong to the request. */
struct label_list {
	struct gg_fleet_label labels[GG_FOREIGN_LABELS_MAX];
	size_t count;
};

static int wrong(struct gg_error *error, const char *what)
{
	return gg_error_set(error, -EBADMSG, "request", NULL, "%s", what);
}

/* Gives a block of memory to the request. */
static void *own(struct gg_foreign_request *request, void *memory)
{
	if (memory != NULL && gg_array_push(&request->owned, memory))
		return memory;
	free(memory);
	return NULL;
}

static int add_label(struct gg_foreign_request *request, struct label_list *list, const char *key,
                     size_t key_length, const char *value, size_t value_length,
                     struct gg_error *error)
{
	char *copy;

	if (list->count == GG_FOREIGN_LABELS_MAX)
		return wrong(error, "a series has more than 60 labels");
	if (key_length == 0 || key_length > GG_FOREIGN_TEXT_MAX ||
	    value_length > GG_FOREIGN_TEXT_MAX)
		return wrong(error, "a label has no name, or more than 2048 bytes");
	if (memchr(key, '\0', key_length) != NULL ||
	    (value_length > 0 && memchr(value, '\0', value_length) != NULL))
		return wrong(error, "a label has a zero byte");
	copy = own(request, malloc(key_length + value_length + 2));
	if (copy == NULL)
		return gg_error_memory(error, "request");
	memcpy(copy, key, key_length);
	copy[key_length] = '\0';
	if (value_length > 0)
		memcpy(copy + key_length + 1, value, value_length);
	copy[key_length + 1 + value_length] = '\0';
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->labels[i].key, copy) == 0)
			return wrong(error, "a series has two labels of one name");
	list->labels[list->count++] = (struct gg_fleet_label){ copy, copy + key_length + 1 };
	return 0;
}

/* Labels that begin with two underscores are for the receiver. */
static bool takes_differences(const struct label_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->labels[i].key, "__delta__") == 0)
			return strcmp(list->labels[i].value, "false") == 0;
	return false;
}

/* Gives the series' labels to the items that were added since `first`. */
static int finish_series(struct gg_foreign_request *request, size_t first,
                         const struct label_list *list, struct gg_error *error)
{
	struct gg_fleet_label *labels = own(request, malloc((list->count + 1) * sizeof(*labels)));

	if (labels == NULL)
		return gg_error_memory(error, "request");
	memcpy(labels, list->labels, list->count * sizeof(*labels));
	for (size_t i = first; i < request->items.count; i++) {
		request->items.items[i].labels = labels;
		request->items.items[i].label_count = list->count;
		request->items.items[i].is_delta = takes_differences(list);
	}
	return 0;
}

static int add_item(struct gg_foreign_request *request, const void *bytes, size_t length,
                    struct gg_error *error)
{
	const struct gg_foreign_item item = { .bytes = bytes, .length = length };

	if (request->items.count == GG_FOREIGN_ITEMS_MAX)
		return wrong(error, "the request has more than 256 profiles");
	return gg_array_push(&request->items, item) ? 0 : gg_error_memory(error, "request");
}

/* --- PushRequest, protocol buffers ---------------------------------------------------------- */

static int read_label(struct gg_foreign_request *request, struct label_list *list,
                      struct gg_wire message, struct gg_error *error)
{
	struct push_label {
		struct gg_wire name, value;
	} label = { 0 };
	static const struct gg_wire_member members[] = {
		GG_WIRE_SPAN(struct push_label, 1, name),
		GG_WIRE_SPAN(struct push_label, 2, value),
	};

	if (gg_wire_read(&message, members, GG_COUNT(members), &label) < 0)
		return wrong(error, "a label is damaged");
	return add_label(request, list, (const char *)label.name.at, gg_wire_length(&label.name),
	                 (const char *)label.value.at, gg_wire_length(&label.value), error);
}

static int read_raw_sample(struct gg_foreign_request *request, struct gg_wire message,
                           struct gg_error *error)
{
	struct push_sample {
		struct gg_wire profile;
	} sample = { 0 };
	static const struct gg_wire_member members[] = {
		GG_WIRE_SPAN(struct push_sample, 1, profile),
	};

	if (gg_wire_read(&message, members, GG_COUNT(members), &sample) < 0)
		return wrong(error, "a sample is damaged");
	if (gg_wire_length(&sample.profile) == 0)
		return 0;
	return add_item(request, sample.profile.at, gg_wire_length(&sample.profile), error);
}

static int read_series(struct gg_foreign_request *request, struct gg_wire message,
                       struct gg_error *error)
{
	struct label_list list = { .count = 0 };
	size_t first = request->items.count;
	struct gg_wire_field field;
	int more, status = 0;

	while (status == 0 && (more = gg_wire_next(&message, &field)) > 0) {
		if (field.type != GG_WIRE_BYTES)
			continue;
		if (field.number == 1)
			status = read_label(request, &list, field.bytes, error);
		else if (field.number == 2)
			status = read_raw_sample(request, field.bytes, error);
	}
	if (status == 0 && more < 0)
		status = wrong(error, "a series is damaged");
	return status < 0 ? status : finish_series(request, first, &list, error);
}

static int read_push(struct gg_foreign_request *request, const void *bytes, size_t length,
                     struct gg_error *error)
{
	struct gg_wire wire = gg_wire_of(bytes, length);
	struct gg_wire_field field;
	int more, status = 0;

	while (status == 0 && (more = gg_wire_next(&wire, &field)) > 0)
		if (field.number == 1 && field.type == GG_WIRE_BYTES)
			status = read_series(request, field.bytes, error);
	if (status == 0 && more < 0)
		status = wrong(error, "the request is no PushRequest");
	return status;
}

/* --- PushRequest, JSON ---------------------------------------------------------------------- */

static int digit_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

/* Decodes base64 in place.  Returns SIZE_MAX for any other text. */
static size_t decode_base64(char *text)
{
	unsigned bits = 0, value = 0;
	size_t length = 0;
	const char *at = text;

	for (; *at != '\0' && *at != '='; at++) {
		int digit = digit_of(*at);

		if (digit < 0)
			return SIZE_MAX;
		value = (value << 6 | (unsigned)digit) & 0xffffff;
		bits += 6;
		if (bits < 8)
			continue;
		bits -= 8;
		text[length++] = (char)(value >> bits & 0xff);
	}
	return at[strspn(at, "=")] == '\0' ? length : SIZE_MAX;
}

/* Reads the text of a member, whatever its length.  The request owns it. */
static char *read_text(struct gg_foreign_request *request, struct gg_json_reader *json)
{
	/* No text is longer than what is left of the JSON that has it. */
	const char *end;
	size_t room;
	char *text;

	while (json->at < json->end && strchr(" \t\r\n", *json->at) != NULL && *json->at != '\0')
		json->at++;
	if (json->at == json->end || *json->at != '"') {
		json->failed = true;
		return NULL;
	}
	for (end = json->at + 1; end < json->end && *end != '"'; end++)
		if (*end == '\\' && end + 1 < json->end)
			end++;
	room = (size_t)(end - json->at) + 4; /* escapes are longer than what they stand for */
	text = own(request, malloc(room));
	if (text != NULL && !gg_json_reader_text(json, text, room))
		json->failed = true;
	return text;
}

static int read_json_labels(struct gg_foreign_request *request, struct gg_json_reader *json,
                            struct label_list *list, struct gg_error *error)
{
	int status = 0;

	if (!gg_json_reader_open(json, '['))
		return wrong(error, "labels are no list");
	while (status == 0 && gg_json_reader_item(json)) {
		const char *name = "", *value = "";
		char key[16];

		if (!gg_json_reader_open(json, '{'))
			return wrong(error, "a label is no object");
		while (gg_json_reader_member(json, key, sizeof(key))) {
			const char **text = strcmp(key, "name") == 0    ? &name
			                    : strcmp(key, "value") == 0 ? &value
			                                                : NULL;

			if (text != NULL)
				*text = read_text(request, json);
			else
				gg_json_reader_skip(json);
			if (text != NULL && *text == NULL)
				return json->failed ? wrong(error, "a label is no text")
				                    : gg_error_memory(error, "request");
		}
		if (!json->failed)
			status = add_label(request, list, name, strlen(name), value, strlen(value),
			                   error);
	}
	return status;
}

static int read_json_samples(struct gg_foreign_request *request, struct gg_json_reader *json,
                             struct gg_error *error)
{
	int status = 0;

	if (!gg_json_reader_open(json, '['))
		return wrong(error, "samples are no list");
	while (status == 0 && gg_json_reader_item(json)) {
		char key[24];

		if (!gg_json_reader_open(json, '{'))
			return wrong(error, "a sample is no object");
		while (status == 0 && gg_json_reader_member(json, key, sizeof(key))) {
			char *text;
			size_t length;

			if (strcmp(key, "rawProfile") != 0 && strcmp(key, "raw_profile") != 0) {
				gg_json_reader_skip(json);
				continue;
			}
			text = read_text(request, json);
			if (text == NULL)
				return json->failed ? wrong(error, "a profile is no text")
				                    : gg_error_memory(error, "request");
			length = decode_base64(text);
			if (length == SIZE_MAX)
				return wrong(error, "a profile is not base64");
			if (length > 0)
				status = add_item(request, text, length, error);
		}
	}
	return status;
}

static int read_json_series(struct gg_foreign_request *request, struct gg_json_reader *json,
                            struct gg_error *error)
{
	struct label_list list = { .count = 0 };
	size_t first = request->items.count;
	char key[16];
	int status = 0;

	if (!gg_json_reader_open(json, '{'))
		return wrong(error, "a series is no object");
	while (status == 0 && gg_json_reader_member(json, key, sizeof(key))) {
		if (strcmp(key, "labels") == 0)
			status = read_json_labels(request, json, &list, error);
		else if (strcmp(key, "samples") == 0)
			status = read_json_samples(request, json, error);
		else
			gg_json_reader_skip(json);
	}
	return status < 0 ? status : finish_series(request, first, &list, error);
}

static int read_json_push(struct gg_foreign_request *request, const char *text, size_t length,
                          struct gg_error *error)
{
	struct gg_json_reader json = { .at = text, .end = text + length };
	char key[16];
	int status = 0;

	if (!gg_json_reader_open(&json, '{'))
		return wrong(error, "the request is no object");
	while (status == 0 && gg_json_reader_member(&json, key, sizeof(key))) {
		if (strcmp(key, "series") != 0) {
			gg_json_reader_skip(&json);
			continue;
		}
		if (!gg_json_reader_open(&json, '['))
			return wrong(error, "series are no list");
		while (status == 0 && gg_json_reader_item(&json))
			status = read_json_series(request, &json, error);
	}
	return status == 0 && json.failed ? wrong(error, "the JSON is damaged") : status;
}

int gg_foreign_request_push(struct gg_foreign_request *ret_request, const void *bytes,
                            size_t length, bool is_json, struct gg_error *error)
{
	struct gg_foreign_request request = { 0 };
	int status = is_json ? read_json_push(&request, bytes, length, error)
	                     : read_push(&request, bytes, length, error);

	if (status < 0)
		gg_foreign_request_done(&request);
	else
		*ret_request = request;
	return status;
}

/* --- ingest --------------------------------------------------------------------------------- */

/* app{key=value,key="value"}; without a label service_name, the name becomes one. */
static int read_name(struct gg_foreign_request *request, const char *name, struct label_list *list,
                     struct gg_error *error)
{
	const char *open = strchr(name, '{'), *at;
	size_t length = open != NULL ? (size_t)(open - name) : strlen(name);
	bool has_service = false;
	int status = 0;

	for (at = open != NULL ? open + 1 : ""; status == 0 && *at != '\0' && *at != '}';) {
		size_t whole = strcspn(at, ",}"), key = strcspn(at, "=");
		const char *value = at + key + 1;
		size_t value_length;

		if (whole > 0 && key >= whole)
			return wrong(error, "the name has a label without a value");
		if (whole > 0) {
			value_length = whole - key - 1;
			while (key > 0 && *at == ' ') {
				at++;
				key--;
				whole--;
			}
			if (value_length >= 2 && value[0] == '"' &&
			    value[value_length - 1] == '"') {
				value++;
				value_length -= 2;
			}
			has_service |= key == strlen("service_name") &&
			               memcmp(at, "service_name", key) == 0;
			status = add_label(request, list, at, key, value, value_length, error);
		}
		at += whole;
		at += *at == ',';
	}
	if (status == 0 && !has_service && length > 0)
		status = add_label(request, list, "service_name", strlen("service_name"), name,
		                   length, error);
	return status;
}

/* The boundary of multipart/form-data, or NULL; it is not terminated. */
static const char *find_boundary(const char *content_type, size_t *ret_length)
{
	const char *at = content_type != NULL ? strcasestr(content_type, "boundary=") : NULL;

	if (at == NULL || strncasecmp(content_type, "multipart/", strlen("multipart/")) != 0)
		return NULL;
	at += strlen("boundary=");
	if (*at == '"') {
		at++;
		*ret_length = strcspn(at, "\"");
	} else {
		*ret_length = strcspn(at, "; \t");
	}
	return *ret_length > 0 && *ret_length <= 200 ? at : NULL;
}

struct form_part {
	const char *name;
	size_t name_length;
	const char *bytes;
	size_t length;
};

/* The value of a parameter, which may be quoted. */
static void set_part_name(const char *at, const char *end, struct form_part *part)
{
	bool is_quoted = at < end && *at == '"';
	const char *first = is_quoted ? at + 1 : at;

	for (at = first; at < end && (is_quoted ? *at != '"' : strchr("; \t\r\n", *at) == NULL);)
		at++;
	if (is_quoted && at == end)
		return;
	part->name = first;
	part->name_length = (size_t)(at - first);
}

/* The name of a part in its head, by Content-Disposition.  `filename` ends in the same letters. */
static void find_part_name(const char *head, size_t length, struct form_part *part)
{
	static const char mark[] = "name=";
	const char *end = head + length, *at = head;

	while ((at = memmem(at, (size_t)(end - at), mark, strlen(mark))) != NULL) {
		bool is_name = at > head && strchr("; \t", at[-1]) != NULL;

		at += strlen(mark);
		if (is_name) {
			set_part_name(at, end, part);
			return;
		}
	}
}

/* Takes the next part off; 1, 0 at the end, or -EBADMSG. */
static int next_part(struct gg_wire *form, const char *boundary, size_t boundary_length,
                     struct form_part *ret_part)
{
	char mark[208] = "\r\n--";
	size_t mark_length = boundary_length + 4;
	const char *at = (const char *)form->at, *end = (const char *)form->end, *head, *body,
		   *next;

	memcpy(mark + 4, boundary, boundary_length);
	/* The first boundary may be at the very beginning. */
	if ((size_t)(end - at) >= mark_length - 2 && memcmp(at, mark + 2, mark_length - 2) == 0)
		at += mark_length - 2;
	else if ((at = memmem(at, (size_t)(end - at), mark, mark_length)) != NULL)
		at += mark_length;
	else
		return -EBADMSG;
	if (end - at >= 2 && memcmp(at, "--", 2) == 0)
		return 0;
	head = at;
	body = memmem(head, (size_t)(end - head), "\r\n\r\n", 4);
	if (body == NULL)
		return -EBADMSG;
	body += 4;
	next = memmem(body, (size_t)(end - body), mark, mark_length);
	if (next == NULL)
		return -EBADMSG;
	*ret_part = (struct form_part){ .bytes = body, .length = (size_t)(next - body) };
	find_part_name(head, (size_t)(body - head), ret_part);
	form->at = (const uint8_t *)next;
	return 1;
}

static bool is_part(const struct form_part *part, const char *name)
{
	return part->name_length == strlen(name) &&
	       memcmp(part->name, name, part->name_length) == 0;
}

static bool is_true(const struct gg_json_reader *json)
{
	const char *at = json->at;

	while (at < json->end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
		at++;
	return json->end - at >= 4 && memcmp(at, "true", 4) == 0;
}

/* True if the configuration says that allocations count from the last profile on. */
static bool is_config_of_differences(const struct form_part *part)
{
	struct gg_json_reader json = { .at = part->bytes, .end = part->bytes + part->length };
	bool is_delta = false;
	char type[64], key[32];

	if (!gg_json_reader_open(&json, '{'))
		return false;
	while (gg_json_reader_member(&json, type, sizeof(type))) {
		bool is_allocated = strncmp(type, "alloc", 5) == 0;

		if (!gg_json_reader_open(&json, '{')) {
			gg_json_reader_skip(&json);
			continue;
		}
		/* A type without `cumulative` has false. */
		is_delta |= is_allocated;
		while (gg_json_reader_member(&json, key, sizeof(key))) {
			if (is_allocated && strcmp(key, "cumulative") == 0 && is_true(&json))
				is_delta = false;
			gg_json_reader_skip(&json);
		}
	}
	return is_delta && !json.failed;
}

static int read_form(struct gg_foreign_request *request, const char *boundary,
                     size_t boundary_length, const void *bytes, size_t length, bool *ret_is_delta,
                     struct gg_error *error)
{
	struct gg_wire form = gg_wire_of(bytes, length);
	struct form_part part;
	int more, status = 0;

	while (status == 0 && (more = next_part(&form, boundary, boundary_length, &part)) > 0) {
		if (is_part(&part, "profile") && request->items.count == 0)
			status = add_item(request, part.bytes, part.length, error);
		else if (is_part(&part, "sample_type_config"))
			*ret_is_delta = is_config_of_differences(&part);
	}
	if (status == 0 && more < 0)
		status = wrong(error, "the form is damaged");
	if (status == 0 && request->items.count == 0)
		status = wrong(error, "the form has no part `profile`");
	return status;
}

static int read_ingest(struct gg_foreign_request *request, const struct gg_foreign_ingest *ingest,
                       const void *bytes, size_t length, struct gg_error *error)
{
	struct label_list list = { .count = 0 };
	size_t boundary_length = 0;
	const char *boundary = find_boundary(ingest->content_type, &boundary_length);
	bool is_pprof = ingest->format == NULL || strcmp(ingest->format, "pprof") == 0;
	bool is_delta = false;
	int status;

	if (ingest->name == NULL)
		return wrong(error, "the address has no name=");
	status = read_name(request, ingest->name, &list, error);
	if (status < 0)
		return status;
	if (boundary != NULL && is_pprof) {
		status = read_form(request, boundary, boundary_length, bytes, length, &is_delta,
		                   error);
	} else if (ingest->format != NULL && is_pprof) {
		status = add_item(request, bytes, length, error);
	} else if (ingest->units != NULL && strcmp(ingest->units, "bytes") == 0) {
		return wrong(error, "memory is taken as pprof alone: format=pprof");
	} else {
		request->is_other = true; /* stacks of time, in one of several forms */
	}
	if (status == 0)
		status = finish_series(request, 0, &list, error);
	for (size_t i = 0; status == 0 && i < request->items.count; i++)
		request->items.items[i].is_delta |= is_delta;
	return status;
}

int gg_foreign_request_ingest(struct gg_foreign_request *ret_request,
                              const struct gg_foreign_ingest *ingest, const void *bytes,
                              size_t length, struct gg_error *error)
{
	struct gg_foreign_request request = { 0 };
	int status = read_ingest(&request, ingest, bytes, length, error);

	if (status < 0)
		gg_foreign_request_done(&request);
	else
		*ret_request = request;
	return status;
}

void gg_foreign_request_done(struct gg_foreign_request *request)
{
	for (size_t i = 0; i < request->owned.count; i++)
		free(request->owned.items[i]);
	gg_array_done(&request->owned);
	gg_array_done(&request->items);
	*request = (struct gg_foreign_request){ 0 };
}
