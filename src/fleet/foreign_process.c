/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/foreign_process.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/path.h"
#include "base/utf8.h"
#include "fleet/foreign_request.h"

static const char *label_of(const struct gg_foreign_process *process, const char *key)
{
	for (size_t i = 0; i < process->label_count; i++)
		if (strcmp(process->labels[i].key, key) == 0 && process->labels[i].value[0] != '\0')
			return process->labels[i].value;
	return NULL;
}

static const char *first_label(const struct gg_foreign_process *process, const char *const *keys,
                               size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *value = label_of(process, keys[i]);

		if (value != NULL)
			return value;
	}
	return NULL;
}

static bool is_in(const char *key, const char *const *keys, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(key, keys[i]) == 0)
			return true;
	return false;
}

static const char *const service_keys[] = { "service_name", "service.name" };
static const char *const version_keys[] = { "service_version", "service.version", "version" };
static const char *const host_keys[] = { "host.name", "host_name", "hostname",      "host",
	                                 "nodename",  "node",      "k8s.node.name", "node_name",
	                                 "instance",  "pod",       "k8s.pod.name" };
/* Labels that tell a process from others, so that they are no labels of a series. */
static const char *const process_keys[] = {
	"instance",    "service.instance.id", "service_instance_id",
	"pod",         "k8s.pod.name",        "k8s_pod_name",
	"k8s.pod.uid", "container.id",        "container_id",
};
static const char *const pid_keys[] = { "pid", "process.pid", "process_pid", "process_id" };
static const char session_key[] = "__session_id__";

static bool is_private(const char *key)
{
	return key[0] == '_' && key[1] == '_';
}

static void add_label(struct gg_foreign_process *process, const char *key, const char *value)
{
	if (process->label_count < GG_SEND_LABELS_MAX && strlen(key) <= GG_FOREIGN_TEXT_MAX &&
	    strlen(value) <= GG_FOREIGN_TEXT_MAX && label_of(process, key) == NULL)
		process->labels[process->label_count++] = (struct gg_fleet_label){ key, value };
}

static void collect_labels(struct gg_foreign_process *process, const struct gg_model *model,
                           const struct gg_fleet_label *labels, size_t label_count)
{
	for (size_t i = 0; i < label_count; i++)
		add_label(process, labels[i].key, labels[i].value);
	for (size_t i = 0; i < model->label_count; i++)
		if (model->labels[i].process == process->number)
			add_label(process, model->labels[i].key, model->labels[i].value);
}

static int compare_labels(const void *a, const void *b)
{
	const struct gg_fleet_label *x = a, *y = b;
	int order = strcmp(x->key, y->key);

	return order != 0 ? order : strcmp(x->value, y->value);
}

/* Which process it is: a number of all its labels, whatever their order. */
static int name_instance(struct gg_foreign_process *process, uint32_t pid)
{
	static const unsigned char fixed[16] = "geiger-foreign-2";
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	bool is_known = pid != 0 || first_label(process, process_keys, GG_COUNT(process_keys));

	qsort(process->labels, process->label_count, sizeof(*process->labels), compare_labels);
	for (size_t i = 0; i < process->label_count; i++) {
		const struct gg_fleet_label *label = &process->labels[i];

		/* An SDK draws a session at each start, for processes without names. */
		if (is_private(label->key) && (is_known || strcmp(label->key, session_key) != 0))
			continue;
		gg_buf_append(&text, label->key, strlen(label->key) + 1);
		gg_buf_append(&text, label->value, strlen(label->value) + 1);
	}
	gg_buf_printf(&text, "%" PRIu32, pid);
	if (text.failed)
		return -ENOMEM;
	snprintf(process->instance, sizeof(process->instance), "%016" PRIx64,
	         gg_fleet_siphash64(gg_buf_text(&text), text.length, fixed));
	return 0;
}

/* The host's name: an instance is one with its port. */
static void name_host(struct gg_foreign_process *process)
{
	const char *host = first_label(process, host_keys, GG_COUNT(host_keys));
	const char *colon;
	size_t length;

	if (host == NULL)
		host = process->instance;
	length = strlen(host);
	colon = strrchr(host, ':');
	if (colon != NULL && colon > host && host == label_of(process, "instance") &&
	    colon[1] != '\0' && strspn(colon + 1, "0123456789") == strlen(colon + 1))
		length = (size_t)(colon - host);
	snprintf(process->host, sizeof(process->host), "%.*s", (int)length, host);
}

static const char *service_of(const struct gg_foreign_process *process,
                              const struct gg_model *model)
{
	const char *service = first_label(process, service_keys, GG_COUNT(service_keys));
	const char *command = model->processes[process->number].command;

	if (service == NULL && command != NULL && command[0] == '/')
		service = gg_path_base(command);
	return service != NULL && service[0] != '\0' ? service : "unknown_service";
}

static void make_facts(struct gg_foreign_process *process, const struct gg_model *model)
{
	struct gg_send_facts *facts = &process->facts;
	const char *version = first_label(process, version_keys, GG_COUNT(version_keys));
	const char *spy = label_of(process, "pyroscope_spy");
	const char *language = label_of(process, "telemetry.sdk.language");

	facts->service = service_of(process, model);
	if (version != NULL)
		facts->labels[facts->label_count++] = (struct gg_export_attribute){
			"service.version", version
		};
	for (size_t i = 0; i < process->label_count; i++) {
		const char *key = process->labels[i].key;

		if (is_private(key) || is_in(key, service_keys, GG_COUNT(service_keys)) ||
		    is_in(key, version_keys, GG_COUNT(version_keys)) ||
		    is_in(key, host_keys, GG_COUNT(host_keys)) ||
		    is_in(key, process_keys, GG_COUNT(process_keys)) ||
		    is_in(key, pid_keys, GG_COUNT(pid_keys)) ||
		    facts->label_count == GG_SEND_LABELS_MAX)
			continue;
		facts->labels[facts->label_count++] = (struct gg_export_attribute){
			key, process->labels[i].value
		};
	}
	process->kind = language != NULL                           ? language
	                : spy != NULL && strcmp(spy, "gospy") == 0 ? "go"
	                                                           : "unknown";
}

/* Labels go into JSON, and into the store's texts, whose readers expect UTF-8. */
static bool has_utf8(const struct gg_foreign_process *process)
{
	for (size_t i = 0; i < process->label_count; i++)
		if (!gg_utf8_is(process->labels[i].key) || !gg_utf8_is(process->labels[i].value))
			return false;
	return true;
}

int gg_foreign_process_of(struct gg_foreign_process *process, const struct gg_model *model,
                          uint32_t number, const struct gg_fleet_label *labels, size_t label_count)
{
	int status;

	process->number = number;
	collect_labels(process, model, labels, label_count);
	if (!has_utf8(process))
		return -EILSEQ;
	if (first_label(process, host_keys, GG_COUNT(host_keys)) == NULL &&
	    first_label(process, process_keys, GG_COUNT(process_keys)) == NULL &&
	    label_of(process, session_key) == NULL)
		return -EINVAL;
	status = name_instance(process, model->processes[number].pid);
	if (status < 0)
		return status;
	name_host(process);
	make_facts(process, model);
	return 0;
}
