/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_record_dotnet_samples - the samples of a stream belong to the process that sent it, and no
 * clock or full disk does harm.
 */
#include "record/dotnet/dotnet_samples.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nettrace_writer.h"
#include "profile.h"
#include "test.h"

enum { PID = 4711, SAMPLES = 5 };

#define SESSION_START_NS UINT64_C(1000000000000)
#define MS               INT64_C(1000000)
#define NOW_NS           (10000 * MS)

struct scene {
	struct gg_profile *profile;
	struct gg_profile_writer writer;
	struct gg_diagnostic_port port;
	struct gg_followed_runtime runtime;
	struct gg_error error;
	FILE *spool;
	/* The contents of the profile. */
	struct gg_profile_process processes[4];
	size_t process_count;
	uint32_t owner; /* process of the samples; UINT32_MAX: they have several */
	size_t sample_count;
	int64_t first_ns, last_ns;
};

static void begin_scene(struct scene *scene, const char *path)
{
	*scene = (struct scene){ .port = GG_DIAGNOSTIC_PORT_NONE };
	REQUIRE(gg_profile_create(&scene->profile, path, &scene->error) == 0);
	REQUIRE(gg_profile_set_session(scene->profile, &profile_session, &scene->error) == 0);
	REQUIRE(gg_profile_writer_init(&scene->writer, scene->profile, SESSION_START_NS,
	                               &scene->error) == 0);
	scene->writer.now_ns = NOW_NS;
}

static void end_scene(struct scene *scene)
{
	gg_array_done(&scene->port.runtimes);
	gg_profile_writer_done(&scene->writer);
	gg_profile_close(scene->profile);
	if (scene->spool != NULL)
		fclose(scene->spool);
}

/* Adds a process of the pid; end_ns may be GG_TIME_NONE. */
static uint32_t add_process(struct scene *scene, int64_t start_ns, int64_t end_ns)
{
	const struct gg_profile_process process = {
		.pid = PID, .start_ns = start_ns, .end_ns = end_ns, .interval_bytes = 1000
	};
	uint32_t id = 0;

	REQUIRE(gg_profile_add_process(scene->profile, &process, &id, &scene->error) == 0);
	return id;
}

/* The runtime's stream begins at that time of CLOCK_MONOTONIC, and has a sample every us. */
static void send_stream(struct scene *scene, uint64_t start_ticks)
{
	struct nettrace_writer stream = { .version = 4,
		                          .is_compressed = true,
		                          .start_ticks = start_ticks };
	struct gg_followed_runtime *runtime = &scene->runtime;

	nettrace_begin(&stream, PID);
	for (int i = 1; i <= SAMPLES; i++)
		nettrace_sample(&stream, 1, i * 1000, 0, "System.String", 0x1000, 200000, 100);
	nettrace_end(&stream);
	scene->spool = tmpfile();
	REQUIRE(scene->spool != NULL);
	REQUIRE(fwrite(stream.file.data, 1, stream.file.length, scene->spool) ==
	        stream.file.length);
	REQUIRE(fflush(scene->spool) == 0);
	*runtime = (struct gg_followed_runtime){
		.pid = PID,
		.has_stream = true,
		.stream = { .fd = -1,
		            .spool_fd = fileno(scene->spool),
		            .state = GG_EVENT_STREAM_ENDED,
		            .bytes = stream.file.length },
		.spare_fd = -1,
	};
	REQUIRE(gg_array_push(&scene->port.runtimes, runtime));
	nettrace_done(&stream);
}

static int take_process(const struct gg_profile_process *process, void *context)
{
	struct scene *scene = context;

	REQUIRE(scene->process_count < GG_COUNT(scene->processes));
	scene->processes[scene->process_count++] = *process;
	return 0;
}

static int take_sample(const struct gg_profile_sample *sample, void *context)
{
	struct scene *scene = context;

	if (scene->sample_count++ == 0) {
		scene->owner = sample->process;
		scene->first_ns = sample->alloc_ns;
	}
	if (scene->owner != sample->process)
		scene->owner = UINT32_MAX;
	scene->last_ns = sample->alloc_ns;
	return 0;
}

static void write_and_read(struct scene *scene)
{
	REQUIRE_MSG(gg_dotnet_samples_write(&scene->port, &scene->writer, NULL) == 0, "%s",
	            scene->error.message);
	REQUIRE(gg_profile_each_process(scene->profile, take_process, scene, &scene->error) == 0);
	REQUIRE(gg_profile_each_sample(scene->profile, take_sample, scene, &scene->error) == 0);
	CHECK_EQ_U64(scene->sample_count, SAMPLES);
}

static uint64_t ticks_at(int64_t time_ns)
{
	return SESSION_START_NS + (uint64_t)time_ns;
}

TEST(samples_belong_to_the_program_that_sent_them_and_not_to_the_next_one)
{
	struct scene scene;
	uint32_t first;

	begin_scene(&scene, NULL);
	first = add_process(&scene, 10 * MS, 400 * MS);
	add_process(&scene, 400 * MS, 1500 * MS); /* it executed another program */
	send_stream(&scene, ticks_at(100 * MS));
	write_and_read(&scene);
	CHECK_EQ_U64(scene.owner, first);
	CHECK_EQ_I64(scene.first_ns, 100 * MS + 1000);
	CHECK_EQ_I64(scene.last_ns, 100 * MS + SAMPLES * 1000);
	end_scene(&scene);
}

TEST(samples_belong_to_the_program_that_was_executed_if_it_sent_them)
{
	struct scene scene;
	uint32_t second;

	begin_scene(&scene, NULL);
	add_process(&scene, 10 * MS, 450 * MS); /* its end was noticed late */
	second = add_process(&scene, 400 * MS, GG_TIME_NONE);
	send_stream(&scene, ticks_at(420 * MS));
	write_and_read(&scene);
	CHECK_EQ_U64(scene.owner, second);
	CHECK_EQ_U64(scene.process_count, 2);
	end_scene(&scene);
}

TEST(a_process_that_starts_soon_has_the_stream_if_no_other_one_ran)
{
	struct scene scene;
	uint32_t soon;

	begin_scene(&scene, NULL);
	add_process(&scene, 10 * MS, 50 * MS); /* an earlier program, which had ended */
	soon = add_process(&scene, 400 * MS, 500 * MS);
	add_process(&scene, 500 * MS, GG_TIME_NONE);
	send_stream(&scene, ticks_at(100 * MS));
	write_and_read(&scene);
	CHECK_EQ_U64(scene.owner, soon);
	CHECK_EQ_I64(scene.first_ns, 400 * MS);
	end_scene(&scene);
}

TEST(a_stream_that_began_after_the_last_process_of_its_pid_has_one_of_its_own)
{
	struct scene scene;

	begin_scene(&scene, NULL);
	add_process(&scene, 10 * MS, 50 * MS);
	send_stream(&scene, ticks_at(5000 * MS));
	write_and_read(&scene);
	CHECK_EQ_U64(scene.process_count, 2);
	CHECK_EQ_U64(scene.owner, 2);
	CHECK_EQ_I64(scene.processes[1].start_ns, 5000 * MS);
	end_scene(&scene);
}

TEST(no_clock_of_a_stream_leads_out_of_the_session)
{
	static const uint64_t ticks[] = {
		0,
		UINT64_MAX,
		SESSION_START_NS + INT64_MAX,
		SESSION_START_NS + INT64_MAX - 1000,
		SESSION_START_NS + (UINT64_C(1) << 63), /* INT64_MIN */
		SESSION_START_NS + NOW_NS + 5,
	};

	for (size_t i = 0; i < GG_COUNT(ticks); i++) {
		for (int has_process = 0; has_process < 2; has_process++) {
			struct scene scene;
			const struct gg_profile_process *last;

			begin_scene(&scene, NULL);
			if (has_process)
				add_process(&scene, 10 * MS, 500 * MS);
			send_stream(&scene, ticks[i]);
			write_and_read(&scene);
			last = &scene.processes[scene.process_count - 1];
			CHECK(scene.owner == scene.process_count);
			CHECK(last->start_ns >= 0 && last->start_ns <= NOW_NS);
			CHECK(last->end_ns >= last->start_ns);
			CHECK(last->end_ns == GG_TIME_NONE || last->end_ns <= NOW_NS);
			CHECK(scene.first_ns >= last->start_ns && scene.last_ns <= NOW_NS);
			CHECK(gg_profile_check(scene.profile, profile_print_problem, NULL,
			                       &scene.error) == 0);
			end_scene(&scene);
		}
	}
}

TEST(a_disk_without_room_for_the_process_fails_and_does_no_harm)
{
	const struct rlimit limit = { 1, 1 }; /* of a file; it acts as a full disk */
	struct profile_place place = profile_place_make();
	pid_t child;
	int status;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		struct scene scene;

		begin_scene(&scene, place.path);
		send_stream(&scene, ticks_at(100 * MS));
		CHECK(gg_profile_writer_commit(&scene.writer) == 0);
		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &limit);
		CHECK(gg_dotnet_samples_write(&scene.port, &scene.writer, NULL) < 0);
		CHECK_EQ_U64(scene.writer.counts.process_count, 0);
		end_scene(&scene);
		fflush(stdout);
		_exit(test_failed);
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CHECK(profile_place_remove(&place));
}
