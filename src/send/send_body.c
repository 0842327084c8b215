/* SPDX-License-Identifier: Apache-2.0 */
#include "send/send_body.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/time_units.h"
#include "format/codec/gzip.h"
#include "format/export/otlp_outline.h"
#include "page/page_pack.h"

struct body_maker {
	struct gg_send_body *body;
	const struct gg_send_facts *facts;
	const struct gg_extract *extract;
	uint64_t identity;
	struct gg_error *error;
};

static const struct gg_profile_process *process_of(const struct body_maker *maker)
{
	return &maker->extract->model->processes[maker->extract->rows[0].process];
}

const char *gg_send_facts_label(const struct gg_send_facts *facts, const char *key)
{
	for (size_t i = 0; i < facts->label_count; i++)
		if (strcmp(facts->labels[i].key, key) == 0)
			return facts->labels[i].value;
	return NULL;
}

static void append_service(const struct body_maker *maker, struct gg_buf *out)
{
	const char *service = maker->facts->service != NULL
	                              ? maker->facts->service
	                              : gg_send_facts_label(maker->facts, "service.name");

	if (service != NULL)
		gg_buf_append_text(out, service);
	else
		gg_extract_process_name(maker->extract, maker->extract->rows[0].process, out);
}

static const char *host_of(const struct body_maker *maker)
{
	const struct gg_model *model = maker->extract->model;
	const char *host =
		model->session_count > 0
			? model->sessions[model->process_sessions[maker->extract->rows[0].process]]
				  .host
			: NULL;

	return host != NULL && host[0] != '\0' ? host : maker->facts->host;
}

typedef int use_job(const struct gg_export *job, void *context);

/* Calls `use` with a job that has the attributes of the resource. */
static int with_job(const struct body_maker *maker, struct gg_buf *out, use_job *use, void *context)
{
	struct gg_export_attribute attributes[GG_SEND_LABELS_MAX + 2];
	GG_CLEANUP(gg_buf_done) struct gg_buf service = { 0 };
	struct gg_export job = { .extract = maker->extract,
		                 .out = out,
		                 .error = maker->error,
		                 .sums_only = true,
		                 .attributes = attributes,
		                 .identity = maker->identity };
	const char *host = host_of(maker);

	append_service(maker, &service);
	attributes[job.attribute_count++] = (struct gg_export_attribute){ "service.name",
		                                                          gg_buf_text(&service) };
	if (host != NULL && gg_send_facts_label(maker->facts, "host.name") == NULL)
		attributes[job.attribute_count++] = (struct gg_export_attribute){ "host.name",
			                                                          host };
	for (size_t i = 0; i < maker->facts->label_count; i++)
		if (strcmp(maker->facts->labels[i].key, "service.name") != 0)
			attributes[job.attribute_count++] = maker->facts->labels[i];
	return service.failed ? gg_error_memory(maker->error, "send") : use(&job, context);
}

static int write_job(const struct gg_export *job, void *format)
{
	return gg_export_write(gg_export_find(format), job);
}

static int write_as(const struct body_maker *maker, const char *format, struct gg_buf *out)
{
	return with_job(maker, out, write_job, (char *)format);
}

/* --- labels of Pyroscope and Parca ---------------------------------------------------------- */

typedef void visit_label(const char *name, const char *value, void *context);

/* Visits all labels but the service's name, with names that these receivers allow. */
static void each_label(const struct body_maker *maker, visit_label *visit, void *context)
{
	const char *host = host_of(maker);
	char pid[16];

	for (size_t i = 0; i < maker->facts->label_count; i++) {
		const struct gg_export_attribute *label = &maker->facts->labels[i];
		GG_CLEANUP(gg_buf_done) struct gg_buf name = { 0 };

		if (strcmp(label->key, "service.name") == 0)
			continue;
		if (isdigit((unsigned char)label->key[0]))
			gg_buf_append_text(&name, "_");
		for (const char *at = label->key; *at != '\0'; at++)
			gg_buf_append(&name, isalnum((unsigned char)*at) ? at : "_", 1);
		visit(gg_buf_text(&name), label->value, context);
	}
	if (host != NULL && gg_send_facts_label(maker->facts, "host") == NULL &&
	    gg_send_facts_label(maker->facts, "host.name") == NULL)
		visit("host", host, context);
	if (process_of(maker)->pid != 0 && gg_send_facts_label(maker->facts, "pid") == NULL) {
		snprintf(pid, sizeof(pid), "%u", process_of(maker)->pid);
		visit("pid", pid, context);
	}
}

struct json_labels {
	struct gg_json *json;
};

static void put_json_label(const char *name, const char *value, void *context)
{
	struct json_labels *labels = context;

	gg_json_open(labels->json, NULL, '{');
	gg_json_text(labels->json, "name", name);
	gg_json_text(labels->json, "value", value);
	gg_json_close(labels->json);
}

static void put_json_labels(const struct body_maker *maker, struct gg_json *json)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf service = { 0 };
	struct json_labels labels = { json };

	append_service(maker, &service);
	gg_json_open(json, "labels", '[');
	put_json_label("__name__", "memory", &labels);
	put_json_label("service_name", gg_buf_text(&service), &labels);
	each_label(maker, put_json_label, &labels);
	gg_json_close(json);
}

/* Writes the pprof file as a member with base64. */
static int put_raw_profile(const struct body_maker *maker, struct gg_json *json)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf file = { 0 }, text = { 0 };
	int status = write_as(maker, "pprof", &file);

	if (status < 0)
		return status;
	gg_page_base64(file.data, file.length, &text);
	gg_json_text(json, "rawProfile", gg_buf_text(&text));
	return text.failed ? gg_error_memory(maker->error, "send") : 0;
}

/* --- forms ---------------------------------------------------------------------------------- */

static int make_otlp(const struct body_maker *maker)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf plain = { 0 };
	struct gg_send_body *body = maker->body;
	int status;

	body->type = "application/x-protobuf";
	body->is_gzip = !maker->facts->no_gzip;
	if (!body->is_gzip)
		return write_as(maker, "otlp", &body->bytes);
	status = write_as(maker, "otlp", &plain);
	if (status == 0 && plain.length > GG_SEND_BODY_MAX)
		return gg_error_set(maker->error, -EFBIG, "send", NULL,
		                    "the profile has %zu MiB, and a request at most %d",
		                    plain.length >> 20, GG_SEND_BODY_MAX >> 20);
	if (status == 0 && gg_gzip(&body->bytes, plain.data, plain.length) < 0)
		status = gg_error_memory(maker->error, "send");
	return status;
}

/* {"series": [{"labels": [...], "samples": [{"ID": ..., "rawProfile": ...}]}]} */
static int make_pyroscope_push(const struct body_maker *maker)
{
	struct gg_json json = { .out = &maker->body->bytes };
	uint64_t low = gg_hash_integer(maker->identity, 1);
	char id[40];
	int status;

	snprintf(id, sizeof(id), "%08" PRIx32 "-%04x-4%03x-8%03x-%012" PRIx64,
	         (uint32_t)(maker->identity >> 32), (unsigned)(maker->identity >> 16 & 0xffff),
	         (unsigned)(maker->identity & 0xfff), (unsigned)(low >> 52),
	         low & UINT64_C(0xffffffffffff));
	maker->body->type = "application/json";
	gg_json_open(&json, NULL, '{');
	gg_json_open(&json, "series", '[');
	gg_json_open(&json, NULL, '{');
	put_json_labels(maker, &json);
	gg_json_open(&json, "samples", '[');
	gg_json_open(&json, NULL, '{');
	gg_json_text(&json, "ID", id);
	status = put_raw_profile(maker, &json);
	while (json.depth > 0)
		gg_json_close(&json);
	return status;
}

/* {"series": [{"labels": {"labels": [...]}, "samples": [{"rawProfile": ...}]}]} */
static int make_parca(const struct body_maker *maker)
{
	struct gg_json json = { .out = &maker->body->bytes };
	int status;

	maker->body->type = "application/json";
	gg_json_open(&json, NULL, '{');
	gg_json_open(&json, "series", '[');
	gg_json_open(&json, NULL, '{');
	gg_json_open(&json, "labels", '{');
	put_json_labels(maker, &json);
	gg_json_close(&json);
	gg_json_open(&json, "samples", '[');
	gg_json_open(&json, NULL, '{');
	status = put_raw_profile(maker, &json);
	while (json.depth > 0)
		gg_json_close(&json);
	return status;
}

static void append_escaped(struct gg_buf *out, const char *text)
{
	for (; *text != '\0'; text++)
		if (isalnum((unsigned char)*text) || strchr("-._~", *text) != NULL)
			gg_buf_append(out, text, 1);
		else
			gg_buf_printf(out, "%%%02X", (unsigned char)*text);
}

/* A label of a name such as app{pid=1,host=a}: its value may not have what ends it. */
static void append_name_label(const char *name, const char *value, void *context)
{
	struct gg_buf *out = context;

	gg_buf_printf(out, "%s%s=", out->data[out->length - 1] == '{' ? "" : ",", name);
	for (; *value != '\0'; value++)
		gg_buf_append(out, strchr("{},=", *value) != NULL ? "_" : value, 1);
}

static void append_ingest_target(const struct body_maker *maker)
{
	const struct gg_extract *extract = maker->extract;
	int64_t start_ns = extract->model->session_count > 0
	                           ? (int64_t)extract->model->sessions[0].start_wall_ns
	                           : 0;
	GG_CLEANUP(gg_buf_done) struct gg_buf name = { 0 }, service = { 0 };
	struct gg_buf *out = &maker->body->target;
	int64_t from_s = (start_ns + extract->start_ns) / (int64_t)GG_NS_PER_S;
	int64_t until_s = (start_ns + extract->end_ns) / (int64_t)GG_NS_PER_S;

	append_service(maker, &service);
	for (const char *at = gg_buf_text(&service); *at != '\0'; at++)
		gg_buf_append(&name, strchr("{},=", *at) != NULL ? "_" : at, 1);
	gg_buf_append_text(&name, "{");
	each_label(maker, append_name_label, &name);
	gg_buf_append_text(&name, "}");
	gg_buf_append_text(out, strchr(gg_buf_text(out), '?') != NULL ? "&name=" : "?name=");
	append_escaped(out, gg_buf_text(&name));
	gg_buf_printf(out, "&from=%" PRId64 "&until=%" PRId64 "&format=pprof&spyName=geiger",
	              from_s, until_s > from_s ? until_s : from_s + 1);
}

static const char sample_types[] =
	"{\"inuse_space\":{\"units\":\"bytes\",\"aggregation\":\"average\","
	"\"display-name\":\"inuse_space\",\"sampled\":false},"
	"\"inuse_objects\":{\"units\":\"objects\",\"aggregation\":\"average\","
	"\"display-name\":\"inuse_objects\",\"sampled\":false},"
	"\"alloc_space\":{\"units\":\"bytes\",\"aggregation\":\"sum\","
	"\"display-name\":\"alloc_space\",\"sampled\":false},"
	"\"alloc_objects\":{\"units\":\"objects\",\"aggregation\":\"sum\","
	"\"display-name\":\"alloc_objects\",\"sampled\":false}}";

static int make_pyroscope_ingest(const struct body_maker *maker)
{
	struct gg_buf *out = &maker->body->bytes;
	static const char boundary[] = "geiger-profile-2c9f6e31d05b8a47";
	int status;

	maker->body->type = "multipart/form-data; boundary=geiger-profile-2c9f6e31d05b8a47";
	append_ingest_target(maker);
	gg_buf_printf(out,
	              "--%s\r\nContent-Disposition: form-data; name=\"profile\"; "
	              "filename=\"profile.pb.gz\"\r\nContent-Type: application/octet-stream"
	              "\r\n\r\n",
	              boundary);
	status = write_as(maker, "pprof", out);
	gg_buf_printf(out,
	              "\r\n--%s\r\nContent-Disposition: form-data; name=\"sample_type_config\"; "
	              "filename=\"sample_type_config.json\"\r\nContent-Type: application/json"
	              "\r\n\r\n%s\r\n--%s--\r\n",
	              boundary, sample_types, boundary);
	return status;
}

static int make_pprof(const struct body_maker *maker)
{
	maker->body->type = "application/octet-stream";
	return write_as(maker, "pprof", &maker->body->bytes);
}

static void append_about(const struct body_maker *maker, struct gg_buf *about)
{
	gg_extract_process_name(maker->extract, maker->extract->rows[0].process, about);
	for (size_t i = 0; i < about->length; i++)
		if ((unsigned char)about->data[i] < ' ')
			about->data[i] = '?';
	gg_buf_printf(about, " (%u)", process_of(maker)->pid);
}

struct outline_maker {
	struct gg_otlp_outline *outline;
	uint32_t *slots;
};

static int make_outline(const struct gg_export *job, void *context)
{
	const struct outline_maker *maker = context;

	return gg_otlp_outline_make(maker->outline, job, maker->slots);
}

int gg_send_body_outline(struct gg_otlp_outline *ret_outline, const struct gg_send_facts *facts,
                         const struct gg_extract *extract, uint32_t *ret_slots,
                         struct gg_buf *about, struct gg_error *error)
{
	const struct body_maker maker = { .facts = facts, .extract = extract, .error = error };
	struct outline_maker outline = { ret_outline, ret_slots };

	append_about(&maker, about);
	if (about->failed)
		return gg_error_memory(error, "send");
	return with_job(&maker, NULL, make_outline, &outline);
}

int gg_send_body_make(struct gg_send_body *body, const struct gg_send_facts *facts,
                      const struct gg_extract *extract, uint64_t identity, struct gg_error *error)
{
	static int (*const makers[])(const struct body_maker *) = {
		[GG_RECEIVER_OTLP] = make_otlp,
		[GG_RECEIVER_PYROSCOPE_INGEST] = make_pyroscope_ingest,
		[GG_RECEIVER_PYROSCOPE_PUSH] = make_pyroscope_push,
		[GG_RECEIVER_PARCA] = make_parca,
		[GG_RECEIVER_PPROF] = make_pprof,
	};
	struct body_maker maker = { body, facts, extract, identity, error };
	int status;

	gg_buf_append_text(&body->target, facts->receiver->path);
	append_about(&maker, &body->about);
	status = makers[facts->receiver->form](&maker);
	if (status == 0 && (body->bytes.failed || body->target.failed || body->about.failed))
		status = gg_error_memory(error, "send");
	return status;
}

struct gg_send_item gg_send_body_item(const struct gg_send_body *body, const char *owner)
{
	return (struct gg_send_item){ .target = gg_buf_text(&body->target),
		                      .type = body->type,
		                      .about = gg_buf_text(&body->about),
		                      .owner = owner,
		                      .is_gzip = body->is_gzip,
		                      .body = gg_buf_text(&body->bytes),
		                      .length = body->bytes.length };
}

void gg_send_body_done(struct gg_send_body *body)
{
	gg_buf_done(&body->bytes);
	gg_buf_done(&body->target);
	gg_buf_done(&body->about);
}
