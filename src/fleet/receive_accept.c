/* SPDX-License-Identifier: Apache-2.0 */
/* receive_accept - what a request does, without sockets. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/time_units.h"
#include "base/utf8.h"
#include "fleet/receive_internal.h"
#include "format/import/input.h"

enum {
	KNOWN_MOST = 2 << 20,
	QUEUE_SECONDS = 30,
	DISK_SECONDS = 60,
	ANSWER_BYTES_MAX = 7000, /* a sender keeps 8 kB of an answer */
	RATE_BURST_SECONDS = 10,
	NAMED_SLOT_SECONDS = 86400,
};
static const char receiver_name[] = "receiver";

void gg_receive_count(struct gg_receive *receive, uint64_t *counter)
{
	pthread_mutex_lock(&receive->mutex);
	(*counter)++;
	pthread_mutex_unlock(&receive->mutex);
}

static uint64_t now_seconds(void)
{
	return gg_clock_wall_ns() / GG_NS_PER_S;
}

/* --- opening -------------------------------------------------------------------------------- */

static int make_directory(const char *directory, struct gg_error *error)
{
	char *path = strdup(directory);
	int status = 0;

	if (path == NULL)
		return gg_error_memory(error, "fleet");
	for (char *at = path + 1; status == 0; at++) {
		char c = *at;

		if (c != '/' && c != '\0')
			continue;
		*at = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			status = gg_error_set_errno(error, errno, path, NULL);
		*at = c;
		if (c == '\0')
			break;
	}
	free(path);
	return status;
}

/* The number of this directory in the table `batch`: drawn once, and kept in a file. */
static int read_receiver(struct gg_receive *receive, struct gg_error *error)
{
	int fd = openat(receive->directory_fd, receiver_name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	char text[32] = "";
	ssize_t length;

	if (fd < 0)
		return gg_error_set_errno(error, errno, receive->options->directory, NULL);
	/* The lock stays until the receiver ends. */
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		close(fd);
		return gg_error_set(error, -EBUSY, receive->options->directory,
		                    "Give another --directory.",
		                    "another receiver uses this directory");
	}
	length = read(fd, text, sizeof(text) - 1);
	if (length > 0)
		receive->receiver = (uint32_t)strtoul(text, NULL, 10);
	if (receive->receiver != 0)
		return 0;
	receive->receiver = (uint32_t)gg_hash_random_seed() | 1;
	length = snprintf(text, sizeof(text), "%" PRIu32 "\n", receive->receiver);
	if (pwrite(fd, text, (size_t)length, 0) != length || fsync(fd) < 0)
		return gg_error_set_errno(error, errno, receive->options->directory, NULL);
	return 0;
}

static int find_pending(struct gg_receive *receive, struct gg_error *error)
{
	struct gg_segment_list list = { 0 };
	int status = gg_segment_list(&list, receive->directory_fd, error);

	for (size_t i = 0; status == 0 && i < list.files.count; i++) {
		struct gg_receive_pending pending = { .number = list.files.items[i].number,
			                              .bytes = list.files.items[i].bytes,
			                              .is_old = true };

		if (!gg_array_push(&receive->pending, pending))
			status = gg_error_memory(error, "fleet");
		receive->pending_bytes += pending.bytes;
		receive->last_number = pending.number;
	}
	gg_array_done(&list.files);
	return status;
}

int gg_receive_open(struct gg_receive *receive, const struct gg_receive_options *options,
                    struct gg_error *error)
{
	int status = 0;

	*receive = (struct gg_receive){ .options = options,
		                        .store = options->store,
		                        .directory_fd = -1,
		                        .seed = gg_hash_random_seed(),
		                        .known = { .most = KNOWN_MOST } };
	pthread_mutex_init(&receive->mutex, NULL);
	pthread_cond_init(&receive->has_work, NULL);
	if (options->tokens != NULL)
		status = gg_receive_access_read(&receive->access, options->tokens, error);
	if (status < 0)
		return status;
	status = make_directory(options->directory, error);
	if (status < 0)
		return status;
	receive->directory_fd = open(options->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (receive->directory_fd < 0)
		return gg_error_set_errno(error, errno, options->directory, NULL);
	status = read_receiver(receive, error);
	if (status == 0)
		status = find_pending(receive, error);
	if (status == 0)
		status = gg_foreign_senders_open(&receive->foreign, receive->directory_fd, error);
	return status;
}

void gg_receive_close(struct gg_receive *receive)
{
	gg_receive_access_done(&receive->access);
	gg_known_set_done(&receive->known);
	gg_foreign_senders_done(&receive->foreign);
	gg_array_done(&receive->pending);
	gg_array_done(&receive->services);
	gg_array_done(&receive->signs);
	if (receive->directory_fd >= 0)
		close(receive->directory_fd);
	pthread_cond_destroy(&receive->has_work);
	pthread_mutex_destroy(&receive->mutex);
}

/* --- answers -------------------------------------------------------------------------------- */

void gg_receive_answer_with(struct gg_receive_answer *answer, unsigned status, const char *text)
{
	answer->status = status;
	gg_buf_clear(&answer->body);
	gg_buf_printf(&answer->body, "%s\n", text);
}

/* Numbers of segments grow, also over restarts and clocks that were set. */
static uint64_t next_number(struct gg_receive *receive)
{
	uint64_t number = gg_clock_wall_ns() / 1000;

	receive->last_number = number > receive->last_number ? number : receive->last_number + 1;
	return receive->last_number;
}

/* Seals the segment, and gives it to the inserting thread.  Returns false after a failure. */
bool gg_receive_seal(struct gg_receive *receive, const char *tenant,
                     const struct gg_segment *segment, struct gg_receive_answer *answer)
{
	struct gg_receive_pending pending = { .number = next_number(receive) };
	struct gg_error error = { 0 };
	bool has_room;
	int status;

	snprintf(pending.tenant, sizeof(pending.tenant), "%s", tenant);
	pthread_mutex_lock(&receive->mutex);
	has_room = gg_array_reserve(&receive->pending, receive->pending.count + 1);
	pthread_mutex_unlock(&receive->mutex);
	status = has_room ? gg_segment_seal(receive->directory_fd, pending.number, tenant, segment,
	                                    &pending.bytes, &error)
	                  : -ENOMEM;
	if (status < 0) {
		gg_receive_count(receive, &receive->counts.failed_disk);
		gg_receive_answer_with(answer, 503, "the receiver's disk or memory is full");
		answer->retry_after_s = DISK_SECONDS;
		return false;
	}
	pthread_mutex_lock(&receive->mutex);
	gg_array_push(&receive->pending, pending);
	receive->pending_bytes += pending.bytes;
	receive->counts.rows += segment->row_count;
	receive->counts.bytes += pending.bytes;
	pthread_cond_signal(&receive->has_work);
	pthread_mutex_unlock(&receive->mutex);
	return true;
}

/* --- who has how many hosts ----------------------------------------------------------------- */

static struct gg_receive_service *service_of(struct gg_receive *receive, uint64_t key)
{
	struct gg_receive_service *service;

	for (size_t i = 0; i < receive->services.count; i++)
		if (receive->services.items[i].key == key)
			return &receive->services.items[i];
	if (receive->services.count >= GG_RECEIVE_SERVICES_MAX)
		return NULL;
	service = gg_array_add(&receive->services);
	if (service != NULL)
		service->key = key;
	return service;
}

static void count_host(struct gg_receive_service *service, uint64_t host, uint32_t hour)
{
	uint64_t hash = gg_hash_integer(host, UINT64_C(0x5bd1e995));
	size_t place = hash % GG_RECEIVE_REGISTERS;
	uint64_t rest = hash / GG_RECEIVE_REGISTERS;
	uint8_t rank = rest != 0 ? (uint8_t)(__builtin_ctzll(rest) + 1) : 56;

	if (hour != service->hour) {
		bool is_next = hour == service->hour + 1;

		memcpy(service->before, service->now, sizeof(service->now));
		if (!is_next)
			memset(service->before, 0, sizeof(service->before));
		memset(service->now, 0, sizeof(service->now));
		service->hour = hour;
	}
	if (service->now[place] < rank)
		service->now[place] = rank;
}

/* HyperLogLog, with linear counting of few hosts: P. Flajolet et al. (2007). */
static double estimate_hosts(const struct gg_receive_service *service)
{
	const double registers = GG_RECEIVE_REGISTERS;
	double sum = 0, estimate;
	int empty = 0;

	for (int i = 0; i < GG_RECEIVE_REGISTERS; i++) {
		uint8_t rank = service->now[i] > service->before[i] ? service->now[i]
		                                                    : service->before[i];

		sum += ldexp(1, -rank);
		empty += rank == 0;
	}
	estimate = 0.7213 / (1 + 1.079 / registers) * registers * registers / sum;
	if (estimate <= 2.5 * registers && empty > 0)
		estimate = registers * log(registers / empty);
	return estimate;
}

/* Appends the shares of hosts that should send stacks, for services where not all should. */
static void answer_shares(struct gg_receive *receive, const char *tenant,
                          const struct gg_fleet_slot *slot, struct gg_buf *out)
{
	uint64_t host = gg_fleet_sender_id(slot->host, slot->instance);
	uint64_t seed = gg_hash_bytes(tenant, strlen(tenant), 1), last = 0;

	if (receive->options->hosts_per_service == 0)
		return;
	for (size_t i = 0; i < slot->series.count; i++) {
		uint64_t id = gg_fleet_service_id(slot->series.items[i].service);
		struct gg_receive_service *service;
		double hosts, share;

		if (id == last)
			continue;
		last = id;
		service = service_of(receive, gg_hash_integer(id, seed));
		if (service == NULL)
			continue;
		count_host(service, host, (uint32_t)(now_seconds() / 3600));
		hosts = estimate_hosts(service);
		share = hosts > 0 ? receive->options->hosts_per_service / hosts : 1;
		if (share < 1 && out->length < ANSWER_BYTES_MAX)
			gg_buf_printf(out, "selected %016" PRIx64 " %d\n", id,
			              (int)(share * GG_FLEET_PPM) > 1 ? (int)(share * GG_FLEET_PPM)
			                                              : 1);
	}
}

/* --- slots ---------------------------------------------------------------------------------- */

static uint64_t seed_of(const char *tenant, uint64_t time_s)
{
	return gg_hash_bytes(tenant, strlen(tenant), gg_segment_month(time_s));
}

static uint64_t stack_key(const struct gg_fleet_stack_id *stack, uint64_t service, uint64_t seed)
{
	return gg_hash_bytes(stack->bytes, sizeof(stack->bytes), gg_hash_integer(service, seed));
}

/*
 * The key is of all bytes: a message that comes again has the same, and a message that says
 * something else, such as another label, is another one.
 */
static uint64_t message_key(const struct gg_receive *receive, const char *tenant,
                            const uint8_t *bytes, size_t length)
{
	return gg_hash_bytes(bytes, length, gg_hash_bytes(tenant, strlen(tenant), receive->seed));
}

/* Marks the stacks of rows that are not known. */
static void mark_unknown(const struct gg_receive *receive, const char *tenant,
                         const struct gg_fleet_slot *slot, uint8_t *is_unknown)
{
	uint64_t seed = seed_of(tenant, slot->start_s);
	size_t rows = slot->rows.count;

	for (size_t i = 0; i < rows + slot->folded.count; i++) {
		uint32_t series = i < rows ? slot->rows.items[i].series
		                           : slot->folded.items[i - rows].series;
		uint32_t stack = i < rows ? slot->rows.items[i].stack
		                          : slot->folded.items[i - rows].stack;
		uint64_t service;

		if (i > 0 && i < rows && slot->rows.items[i - 1].stack == stack &&
		    slot->rows.items[i - 1].series == series)
			continue;
		service = gg_fleet_service_id(slot->series.items[series].service);
		if (!gg_known_set_has(&receive->known,
		                      stack_key(&slot->stacks.items[stack], service, seed)))
			is_unknown[stack] = 1;
	}
}

bool gg_receive_knows_stacks(const struct gg_receive *receive, const char *tenant,
                             const struct gg_fleet_slot *slot)
{
	uint8_t *is_unknown = calloc(slot->stacks.count + 1, 1);
	bool knows = is_unknown != NULL;

	if (knows) {
		mark_unknown(receive, tenant, slot, is_unknown);
		knows = memchr(is_unknown, 1, slot->stacks.count) == NULL;
	}
	free(is_unknown);
	return knows;
}

bool gg_receive_has_message(struct gg_receive *receive, const char *tenant, const void *bytes,
                            size_t length)
{
	return gg_known_set_has(&receive->known, message_key(receive, tenant, bytes, length));
}

void gg_receive_remember_message(struct gg_receive *receive, const char *tenant, const void *bytes,
                                 size_t length)
{
	gg_known_set_add(&receive->known, message_key(receive, tenant, bytes, length));
}

/* Appends the indices of stacks that are not known, as ranges: "unknown 0-5,9". */
static void answer_unknown(const struct gg_receive *receive, const char *tenant,
                           const struct gg_fleet_slot *slot, struct gg_buf *out)
{
	size_t stacks = slot->stacks.count;
	uint8_t *is_unknown = calloc(stacks + 1, 1);
	bool has_any = false;

	if (is_unknown == NULL)
		return;
	mark_unknown(receive, tenant, slot, is_unknown);
	for (size_t i = 0; i < stacks && out->length < ANSWER_BYTES_MAX; i++) {
		size_t last = i;

		if (!is_unknown[i])
			continue;
		while (last + 1 < stacks && is_unknown[last + 1])
			last++;
		gg_buf_printf(out, "%s%zu", has_any ? "," : "unknown ", i);
		if (last > i)
			gg_buf_printf(out, "-%zu", last);
		has_any = true;
		i = last;
	}
	if (has_any)
		gg_buf_append_text(out, "\n");
	if (out->length >= ANSWER_BYTES_MAX)
		gg_buf_append_text(out, "more\n");
	free(is_unknown);
}

/* A month is a partition of the store's tables, so times of definitions have bounds as well. */
bool gg_receive_is_of_its_time(struct gg_receive *receive, uint64_t start_s, double seconds,
                               struct gg_receive_answer *answer)
{
	double now_s = (double)now_seconds(), oldest = receive->options->oldest_seconds;

	if ((double)start_s > now_s + GG_FLEET_AHEAD_SECONDS) {
		gg_receive_count(receive, &receive->counts.refused_old);
		gg_receive_answer_with(answer, 400,
		                       "the slot is in the future: the host's clock is wrong");
		return false;
	}
	if (oldest > 0 && (double)start_s + seconds < now_s - oldest) {
		gg_receive_count(receive, &receive->counts.refused_old);
		gg_receive_answer_with(answer, 400,
		                       "the slot is older than the receiver takes (--oldest)");
		return false;
	}
	return true;
}

/* Forgets which stacks have names, if the store may have lost some: hosts send them again. */
static void forget_lost_names(struct gg_receive *receive)
{
	bool has_lost;

	pthread_mutex_lock(&receive->mutex);
	has_lost = receive->has_lost_names;
	receive->has_lost_names = false;
	pthread_mutex_unlock(&receive->mutex);
	if (!has_lost)
		return;
	gg_known_set_done(&receive->known);
	receive->known = (struct gg_known_set){ .most = KNOWN_MOST };
}

static bool has_utf8_labels(const struct gg_fleet_label *labels, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!gg_utf8_is(labels[i].key) || !gg_utf8_is(labels[i].value))
			return false;
	return true;
}

/* Labels go into the store's texts, and from there into JSON and alerts. */
static bool has_utf8(const struct gg_fleet_slot *slot)
{
	for (size_t i = 0; i < slot->series.count; i++)
		if (!has_utf8_labels(slot->series.items[i].labels,
		                     slot->series.items[i].label_count))
			return false;
	return has_utf8_labels(slot->host_labels, slot->host_label_count);
}

static void take_slot(struct gg_receive *receive, const char *tenant, const uint8_t *bytes,
                      size_t length, struct gg_receive_answer *answer)
{
	struct gg_fleet_slot slot;
	struct gg_segment segment = { 0 };
	struct gg_error error = { 0 };
	uint64_t key;

	if (gg_fleet_slot_decode(&slot, bytes, length, &error) < 0) {
		gg_receive_count(receive, &receive->counts.refused_bad);
		gg_receive_answer_with(answer, error.status == -ENOMEM ? 503 : 400, error.message);
		return;
	}
	if (!has_utf8(&slot)) {
		gg_receive_count(receive, &receive->counts.refused_bad);
		gg_receive_answer_with(answer, 400, "a label is not UTF-8");
		goto out;
	}
	forget_lost_names(receive);
	key = message_key(receive, tenant, bytes, length);
	if (!gg_receive_is_of_its_time(receive, slot.start_s, slot.seconds, answer))
		goto out;
	if (gg_known_set_has(&receive->known, key)) {
		gg_receive_count(receive, &receive->counts.repeated);
	} else {
		if (gg_segment_of_slot(&segment, &slot) < 0) {
			gg_receive_answer_with(answer, 503, "memory is out");
			answer->retry_after_s = DISK_SECONDS;
			goto out;
		}
		if (!gg_receive_seal(receive, tenant, &segment, answer))
			goto out;
		gg_known_set_add(&receive->known, key);
		gg_receive_count(receive, &receive->counts.slots);
	}
	answer->status = 200;
	gg_buf_printf(&answer->body, "geiger-fleet %d\n", GG_FLEET_WIRE_VERSION);
	answer_shares(receive, tenant, &slot, &answer->body);
	answer_unknown(receive, tenant, &slot, &answer->body);
out:
	gg_segment_done(&segment);
	gg_fleet_slot_done(&slot);
}

/* Remembers the stacks, now that the disk has them. */
static void remember_stacks(struct gg_receive *receive, const char *tenant,
                            const struct gg_fleet_definitions *definitions)
{
	uint64_t seed = seed_of(tenant, definitions->at_s), path[GG_FLEET_DEPTH_MAX];
	uint64_t *frame_ids = malloc((definitions->frames.count + 1) * sizeof(*frame_ids));

	if (frame_ids == NULL)
		return;
	for (size_t i = 0; i < definitions->frames.count; i++)
		frame_ids[i] = gg_fleet_frame_id_of(definitions, &definitions->frames.items[i]);
	for (size_t i = 0; i < definitions->stacks.count; i++) {
		const struct gg_fleet_stack *stack = &definitions->stacks.items[i];
		uint64_t service = gg_fleet_service_id(definitions->services.items[stack->service]);
		struct gg_fleet_stack_id id;

		for (size_t k = 0; k < stack->frame_count; k++)
			path[k] =
				frame_ids[definitions->stack_frames.items[stack->first_frame + k]];
		id = gg_fleet_stack_id(path, stack->frame_count);
		gg_known_set_add(&receive->known, stack_key(&id, service, seed));
	}
	free(frame_ids);
}

bool gg_receive_seal_definitions(struct gg_receive *receive, const char *tenant,
                                 const struct gg_fleet_definitions *definitions,
                                 struct gg_receive_answer *answer)
{
	struct gg_segment segment = { 0 };
	bool is_sealed = false;

	if (gg_segment_of_definitions(&segment, definitions, now_seconds()) < 0) {
		gg_receive_answer_with(answer, 503, "memory is out");
		answer->retry_after_s = DISK_SECONDS;
	} else if (gg_receive_seal(receive, tenant, &segment, answer)) {
		remember_stacks(receive, tenant, definitions);
		is_sealed = true;
	}
	gg_segment_done(&segment);
	return is_sealed;
}

static void take_definitions(struct gg_receive *receive, const char *tenant, const uint8_t *bytes,
                             size_t length, struct gg_receive_answer *answer)
{
	struct gg_fleet_definitions definitions;
	struct gg_error error = { 0 };

	if (gg_fleet_definitions_decode(&definitions, bytes, length, &error) < 0) {
		gg_receive_count(receive, &receive->counts.refused_bad);
		gg_receive_answer_with(answer, error.status == -ENOMEM ? 503 : 400, error.message);
		return;
	}
	/* The time is the start of a slot, which may be a day long. */
	if (!gg_receive_is_of_its_time(receive, definitions.at_s, NAMED_SLOT_SECONDS, answer)) {
		gg_fleet_definitions_done(&definitions);
		return;
	}
	if (gg_receive_seal_definitions(receive, tenant, &definitions, answer)) {
		gg_receive_count(receive, &receive->counts.definitions);
		answer->status = 200;
		gg_buf_printf(&answer->body, "geiger-fleet %d\n", GG_FLEET_WIRE_VERSION);
	}
	gg_fleet_definitions_done(&definitions);
}

/* --- requests ------------------------------------------------------------------------------- */

/* The tenant's bucket as it is now; it empties by --tenant-rate. */
static struct gg_receive_rate *rate_of(struct gg_receive *receive, const char *tenant)
{
	struct gg_receive_rate *rate =
		&receive->rates[gg_hash_bytes(tenant, strlen(tenant), 7) % GG_RECEIVE_RATES];
	uint64_t now_ns = gg_clock_monotonic_ns();

	if (rate->at_ns == 0 || strcmp(rate->tenant, tenant) != 0) {
		snprintf(rate->tenant, sizeof(rate->tenant), "%s", tenant);
		rate->bytes = 0;
	} else {
		rate->bytes -= (double)(now_ns - rate->at_ns) * 1e-9 *
		               (double)receive->options->tenant_rate;
	}
	rate->at_ns = now_ns;
	if (rate->bytes < 0)
		rate->bytes = 0;
	return rate;
}

void gg_receive_charge(struct gg_receive *receive, const char *tenant, uint64_t bytes)
{
	if (receive->options->tenant_rate > 0)
		rate_of(receive, tenant)->bytes += (double)bytes;
}

/* True if the tenant may send that many bytes now: a bucket of RATE_BURST_SECONDS. */
static bool has_rate(struct gg_receive *receive, const char *tenant, size_t bytes)
{
	double most = (double)receive->options->tenant_rate * RATE_BURST_SECONDS;
	struct gg_receive_rate *rate;

	if (most <= 0)
		return true;
	rate = rate_of(receive, tenant);
	if (rate->bytes > 0 && rate->bytes + (double)bytes > most)
		return false;
	rate->bytes += (double)bytes;
	return true;
}

static bool is_post(const char *path)
{
	return strcmp(path, "/v1/fleet/slot") == 0 || strcmp(path, "/v1/fleet/stacks") == 0 ||
	       gg_receive_is_foreign(path);
}

static bool is_get(const char *path)
{
	return strcmp(path, "/healthz") == 0 || strcmp(path, "/metrics") == 0;
}

/* Fills in the tenant; false: the answer says why not. */
static bool find_tenant(struct gg_receive *receive, const struct gg_receive_request *request,
                        char tenant[GG_SEGMENT_TENANT_MAX], struct gg_receive_answer *answer)
{
	int status = gg_receive_access_tenant(&receive->access, request->authorization,
	                                      request->scope, tenant);

	if (status == 200)
		return true;
	gg_receive_count(receive, &receive->counts.refused_access);
	gg_receive_answer_with(answer, (unsigned)status,
	                       status == 401 ? "a token is needed"
	                                     : "this token is not for that tenant");
	return false;
}

bool gg_receive_has_queue(struct gg_receive *receive)
{
	bool has_room;

	pthread_mutex_lock(&receive->mutex);
	has_room = receive->pending_bytes <= receive->options->queue_bytes;
	pthread_mutex_unlock(&receive->mutex);
	return has_room;
}

static bool refuse_early(struct gg_receive *receive, const struct gg_receive_request *request,
                         uint64_t length, struct gg_receive_answer *answer)
{
	bool is_reading = strcmp(request->method, "GET") == 0;
	char tenant[GG_SEGMENT_TENANT_MAX];

	if (!is_post(request->path) && !is_get(request->path)) {
		gg_receive_answer_with(answer, 404, "there is no such path");
		return true;
	}
	if (is_reading != is_get(request->path) ||
	    (!is_reading && strcmp(request->method, "POST") != 0)) {
		gg_receive_answer_with(answer, 405, "another method");
		return true;
	}
	if (is_reading)
		return false;
	if (!find_tenant(receive, request, tenant, answer))
		return true;
	if (length > GG_FLEET_BODY_MAX) {
		gg_receive_count(receive, &receive->counts.refused_large);
		gg_receive_answer_with(answer, 413, "the body is too large");
		return true;
	}
	if (!gg_receive_has_queue(receive)) {
		gg_receive_count(receive, &receive->counts.refused_busy);
		gg_receive_answer_with(answer, 429, "the store is behind: segments wait");
		answer->retry_after_s = QUEUE_SECONDS;
		return true;
	}
	return false;
}

bool gg_receive_refuse_early(struct gg_receive *receive, const struct gg_receive_request *request,
                             uint64_t length, struct gg_receive_answer *answer)
{
	if (!refuse_early(receive, request, length, answer))
		return false;
	gg_receive_foreign_answer(request, answer);
	return true;
}

/* gg_input finds compression by the bytes, so the header only tells what it cannot read. */
static bool knows_encoding(const char *encoding)
{
	static const char *const known[] = { "", "identity", "gzip", "x-gzip", "zstd" };
	static const char around[] = " \t,"; /* a list may have empty elements */
	size_t length;

	if (encoding == NULL)
		return true;
	encoding += strspn(encoding, around);
	length = strlen(encoding);
	while (length > 0 && strchr(around, encoding[length - 1]) != NULL)
		length--;
	for (size_t i = 0; i < GG_COUNT(known); i++)
		if (strlen(known[i]) == length && strncasecmp(encoding, known[i], length) == 0)
			return true;
	return false;
}

/* The body without its gzip.  The input owns the bytes. */
static int unpack(struct gg_input **ret_input, const struct gg_receive_request *request,
                  const uint8_t **ret_bytes, size_t *ret_length, struct gg_error *error)
{
	int status = gg_input_of(ret_input, request->body, request->length, "the body", error);

	if (status < 0)
		return status;
	gg_input_limit(*ret_input, GG_FLEET_MESSAGE_MAX);
	status = gg_input_all(*ret_input, GG_FLEET_MESSAGE_MAX, ret_bytes, ret_length, error);
	if (status < 0)
		gg_input_close(*ret_input);
	return status;
}

static void take_body(struct gg_receive *receive, const struct gg_receive_request *request,
                      const char *tenant, struct gg_receive_answer *answer)
{
	struct gg_error error = { 0 };
	struct gg_input *input;
	const uint8_t *bytes;
	size_t length;
	int status;

	if (request->length > GG_FLEET_BODY_MAX) {
		gg_receive_count(receive, &receive->counts.refused_large);
		gg_receive_answer_with(answer, 413, "the body is too large");
		return;
	}
	if (!knows_encoding(request->encoding)) {
		gg_receive_count(receive, &receive->counts.refused_bad);
		gg_receive_answer_with(answer, 415,
		                       "this Content-Encoding is not taken: send gzip, or none");
		return;
	}
	if (request->length == 0 && gg_receive_may_be_empty(request)) {
		gg_receive_count(receive, &receive->counts.foreign_other);
		answer->status = 200;
		return;
	}
	if (request->length == 0) {
		gg_receive_count(receive, &receive->counts.refused_bad);
		gg_receive_answer_with(answer, 400, "the body is empty");
		return;
	}
	status = unpack(&input, request, &bytes, &length, &error);
	if (status < 0) {
		gg_receive_count(receive, &receive->counts.refused_bad);
		gg_receive_answer_with(answer, status == -ENOMEM ? 503 : 400, error.message);
		return;
	}
	if (!has_rate(receive, tenant, length)) {
		gg_receive_count(receive, &receive->counts.refused_busy);
		gg_receive_answer_with(answer, 429, "the tenant sends too much (--tenant-rate)");
		answer->retry_after_s = RATE_BURST_SECONDS;
	} else if (strcmp(request->path, "/v1/fleet/slot") == 0) {
		take_slot(receive, tenant, bytes, length, answer);
	} else if (gg_receive_is_foreign(request->path)) {
		forget_lost_names(receive);
		gg_receive_foreign(receive, request, tenant, bytes, length, answer);
	} else {
		take_definitions(receive, tenant, bytes, length, answer);
	}
	gg_input_close(input);
}

void gg_receive_request(struct gg_receive *receive, const struct gg_receive_request *request,
                        struct gg_receive_answer *answer)
{
	char tenant[GG_SEGMENT_TENANT_MAX];

	if (gg_receive_refuse_early(receive, request, request->length, answer))
		return;
	if (strcmp(request->path, "/healthz") == 0) {
		answer->status = gg_receive_health(receive, &answer->body);
	} else if (strcmp(request->path, "/metrics") == 0) {
		answer->status = 200;
		answer->is_metrics = true;
		gg_receive_metrics(receive, &answer->body);
	} else if (find_tenant(receive, request, tenant, answer)) {
		take_body(receive, request, tenant, answer);
		gg_receive_foreign_answer(request, answer);
	}
}
