/* SPDX-License-Identifier: Apache-2.0 */
/* overhead_budget - measures what sampling costs this process, and sets the sampling interval. */
#include "runtime/overhead_budget.h"

#include "base/clock.h"
#include "base/percent.h"
#include "region/control.h"
#include "runtime/error_target.h"
#include "runtime/exposure.h"
#include "runtime/platform/seccomp.h"
#include "runtime/process.h"
#include "stats/sampling/overhead_control.h"

enum {
	WINDOW_SAMPLES = 64,
	WINDOW_NS = 100000000,
	UNTIMED_NS = 60,
	RECORDER_NS = 1500,
	RECORDER_MOST_NS = 1000000, /* a larger statement is not believed */
	LONGEST_FACTOR = 8,
	FINEST_INTERVAL = GG_ENVIRONMENT_FINEST_INTERVAL,
	FIRST_SAMPLE_NS = 300, /* until the first one was timed */
	FIRST_FREE_NS = 80,
	FIRST_OBJECT_NS = 2000,
};

#define COARSEST_INTERVAL (UINT64_C(1) << 36)
#define HOOKS_NS          1.5
#define CHARGE_MOST_NS    60e9

uint32_t gg_overhead_budget_is_active;

/* The overhead and the error to hold, in millionths; 0: any. */
static uint32_t overhead_ppm, error_ppm;

/* A duration that varies: the mean of the last 16 or so. */
struct mean_ns {
	uint64_t sixteenths_ns;
};

/* The current window; any thread adds to it. */
static struct {
	uint32_t sample_count, free_count;
	uint32_t object_count;     /* samples of heaps inside the program, also in sample_count */
	uint64_t allocation_count; /* estimated */
	uint64_t begin_ns;         /* CLOCK_MONOTONIC */
	uint64_t begin_cpu_ns;
} window;

static struct mean_ns sample_time, free_time, object_time;
static struct gg_overhead_control control;
static uint32_t is_stepping;    /* 1: a thread has `control` and all that follows */
static uint32_t begin_is_due;   /* 1: the next step begins with new values to hold */
static uint64_t begin_interval; /* of a plan, or 0; any thread writes it before begin_is_due */
static uint32_t begun_overhead_ppm, begun_error_ppm; /* that the controls have begun with */
static int64_t seen_charged_ns;                      /* of the recorder's statements */
static uint64_t walk_ns; /* that the control of the error took in this window */

/* Two threads may write at once; then one of the two times is lost. */
static void add_time(struct mean_ns *mean, uint64_t ns)
{
	uint64_t old = gg_load_relaxed(&mean->sixteenths_ns), usual_ns = old / 16;

	if (ns > usual_ns * LONGEST_FACTOR)
		ns = usual_ns * LONGEST_FACTOR;
	gg_store_relaxed(&mean->sixteenths_ns, old + ns - usual_ns);
}

static double time_of(const struct mean_ns *mean)
{
	return (double)gg_load_relaxed(&mean->sixteenths_ns) / 16;
}

/* Processor time of the process; in a sandbox, the time of one processor. */
static uint64_t read_cpu_ns(uint64_t now_ns)
{
	return gg_seccomp_is_entered() ? now_ns : gg_clock_process_ns();
}

/* The time that a recorder needs for a sample; 0 without a recorder. */
static double recorder_sample_ns(void)
{
	uint32_t stated_ns;

	if (gg_process.options.recorder_pid == 0)
		return 0;
	stated_ns = gg_load_relaxed(&gg_process.region.header->recorder.sample_ns);
	return stated_ns > 0 && stated_ns <= RECORDER_MOST_NS ? stated_ns : RECORDER_NS;
}

/*
 * The charge of the recorder since the last window.  The file may be damaged: a change of more
 * than CHARGE_MOST_NS counts as none.
 */
static double take_charge(void)
{
	int64_t charged_ns = gg_load_relaxed(&gg_process.region.header->recorder.charged_ns);
	double change_ns = (double)charged_ns - (double)seen_charged_ns;

	if (gg_process.options.recorder_pid == 0)
		return 0;
	seen_charged_ns = charged_ns;
	return change_ns < CHARGE_MOST_NS && change_ns > -CHARGE_MOST_NS ? change_ns : 0;
}

static void begin_window(uint64_t now_ns, uint64_t cpu_ns)
{
	gg_store_relaxed(&window.begin_ns, now_ns);
	window.begin_cpu_ns = cpu_ns;
}

static bool take_turn(void)
{
	uint32_t nobody = 0;

	return gg_cas_acq_rel(&is_stepping, &nobody, 1);
}

static void give_turn(void)
{
	gg_store_release(&is_stepping, 0);
}

/* Empties the window's sums, of which other threads may take the next ones meanwhile. */
static struct gg_overhead_window take_window(double cpu_ns)
{
	uint32_t samples = gg_exchange_acq_rel(&window.sample_count, 0);
	uint32_t frees = gg_exchange_acq_rel(&window.free_count, 0);
	uint32_t objects = gg_exchange_acq_rel(&window.object_count, 0);
	uint64_t allocations = gg_exchange_acq_rel(&window.allocation_count, 0);
	double recorder_ns = samples * recorder_sample_ns();
	double own_ns = (double)walk_ns;

	/* A thread may have counted a sample between the two exchanges. */
	if (objects > samples)
		objects = samples;
	walk_ns = 0;
	return (struct gg_overhead_window){
		.cpu_ns = cpu_ns,
		.sampling_ns = (samples - objects) * time_of(&sample_time) +
		               objects * time_of(&object_time) + samples * UNTIMED_NS +
		               frees * time_of(&free_time) + recorder_ns + own_ns,
		.recorder_ns = recorder_ns,
		.hooks_ns = (double)allocations * HOOKS_NS,
		.charged_ns = take_charge(),
		.sample_count = samples,
	};
}

static void note_largest(enum gg_region_counter counter, uint64_t value)
{
	struct gg_region_header *header = gg_process.region.header;

	if (header != NULL && value > gg_load_relaxed(&header->counters[counter]))
		gg_store_relaxed(&header->counters[counter], value);
}

/* Other processes read the interval there.  The exchange fails if one has just written its own. */
static void publish_interval(uint64_t old, uint64_t new)
{
	gg_cas_acq_rel(&gg_process.region.header->control.interval_bytes, &old, new);
}

static void publish_sums(const struct gg_overhead_window *w)
{
	struct gg_region *region = &gg_process.region;
	double inside_ns = w->sampling_ns - w->recorder_ns + w->hooks_ns;
	double program_ns = w->cpu_ns > inside_ns ? w->cpu_ns - inside_ns : 0;

	gg_region_count(region, GG_COUNT_PROGRAM_NS, (uint64_t)program_ns);
	gg_region_count(region, GG_COUNT_SAMPLING_NS, (uint64_t)w->sampling_ns);
	gg_region_count(region, GG_COUNT_HOOKS_NS, (uint64_t)w->hooks_ns);
	gg_region_count(region, GG_COUNT_RECORDER_NS, (uint64_t)w->recorder_ns);
}

static void set_interval(uint64_t interval)
{
	uint64_t old = gg_load_relaxed(&gg_process.interval_bytes);

	if (interval == old)
		return;
	gg_exposure_note(interval);
	gg_store_relaxed(&gg_process.interval_bytes, interval);
	publish_interval(old, interval);
	gg_region_count(&gg_process.region, GG_COUNT_INTERVAL_CHANGES, 1);
	/* Release: a thread that sees the count sees the interval. */
	gg_add_release(&gg_process.change_count, 1);
}

/* With the turn.  Starts the controls anew, with the values to hold. */
static void begin(void)
{
	uint32_t new_overhead_ppm = gg_load_relaxed(&overhead_ppm);
	uint32_t new_error_ppm = gg_load_relaxed(&error_ppm);
	uint64_t planned_interval = gg_load_relaxed(&begin_interval);
	const struct gg_overhead_options options = {
		.share = (double)new_overhead_ppm / GG_PPM,
		.first_interval = gg_load_relaxed(&gg_process.interval_bytes),
		.finest_interval = FINEST_INTERVAL,
		.coarsest_interval = COARSEST_INTERVAL,
	};
	uint64_t now_ns = gg_clock_monotonic_ns();

	sample_time.sixteenths_ns = FIRST_SAMPLE_NS * 16;
	free_time.sixteenths_ns = FIRST_FREE_NS * 16;
	object_time.sixteenths_ns = FIRST_OBJECT_NS * 16;
	if (new_overhead_ppm != 0)
		gg_overhead_control_init(&control, &options);
	if (new_error_ppm != 0)
		gg_error_target_begin(new_error_ppm,
		                      planned_interval != 0 ? planned_interval : FINEST_INTERVAL,
		                      FINEST_INTERVAL, COARSEST_INTERVAL);
	gg_exchange_acq_rel(&window.sample_count, 0);
	gg_exchange_acq_rel(&window.free_count, 0);
	gg_exchange_acq_rel(&window.object_count, 0);
	gg_exchange_acq_rel(&window.allocation_count, 0);
	walk_ns = 0;
	begun_overhead_ppm = new_overhead_ppm;
	begun_error_ppm = new_error_ppm;
	begin_window(now_ns, read_cpu_ns(now_ns));
}

/* With the turn.  True if there were new values to hold. */
static bool begin_if_due(void)
{
	/* Acquire: pairs with the release in gg_overhead_budget_set(). */
	if (gg_exchange_acq_rel(&begin_is_due, 0) == 0)
		return false;
	begin();
	return true;
}

static void step(uint64_t now_ns)
{
	uint64_t cpu_ns, interval = 0;
	struct gg_overhead_window w;

	if (!take_turn())
		return;
	if (begin_if_due()) {
		give_turn();
		return;
	}
	cpu_ns = read_cpu_ns(now_ns);
	if (cpu_ns > window.begin_cpu_ns) {
		w = take_window((double)(cpu_ns - window.begin_cpu_ns));
		publish_sums(&w);
		if (begun_overhead_ppm != 0)
			interval = gg_overhead_control_step(&control, &w);
	}
	if (begun_error_ppm != 0) {
		uint64_t for_error = gg_error_target_step(now_ns, &walk_ns);

		interval = for_error > interval ? for_error : interval;
	}
	/* A thread may have ended the control meanwhile, and its interval stays then. */
	if (interval != 0 && gg_overhead_budget_is_on())
		set_interval(interval);
	begin_window(now_ns, cpu_ns);
	give_turn();
}

static bool is_over(uint64_t now_ns)
{
	return now_ns - gg_load_relaxed(&window.begin_ns) >= WINDOW_NS;
}

static void add_sample(double stands_for, uint64_t size_bytes, uint64_t now_ns)
{
	if (gg_load_relaxed(&error_ppm) != 0)
		gg_error_target_allocated(stands_for * (double)size_bytes);
	if (gg_add_relaxed(&window.sample_count, 1) + 1 >= WINDOW_SAMPLES || is_over(now_ns))
		step(now_ns);
}

void gg_overhead_budget_sampled(double stands_for, uint64_t size_bytes, uint64_t took_ns,
                                uint64_t now_ns)
{
	if (took_ns != 0)
		add_time(&sample_time, took_ns);
	gg_add_relaxed(&window.allocation_count, (uint64_t)stands_for);
	add_sample(stands_for, size_bytes, now_ns);
}

void gg_overhead_budget_object_sampled(double stands_for, uint64_t size_bytes, uint64_t took_ns,
                                       uint64_t now_ns, bool has_hooks)
{
	add_time(&object_time, took_ns);
	gg_add_relaxed(&window.object_count, 1);
	if (has_hooks)
		gg_add_relaxed(&window.allocation_count, (uint64_t)stands_for);
	add_sample(stands_for, size_bytes, now_ns);
}

void gg_overhead_budget_freed(uint64_t took_ns)
{
	if (took_ns != 0)
		add_time(&free_time, took_ns);
	gg_add_relaxed(&window.free_count, 1);
}

void gg_overhead_budget_visited(void)
{
	uint64_t now_ns = gg_clock_monotonic_ns();

	if (is_over(now_ns))
		step(now_ns);
}

void gg_overhead_budget_publish(void)
{
	note_largest(GG_COUNT_ASKED_OVERHEAD, gg_load_relaxed(&overhead_ppm));
	note_largest(GG_COUNT_ASKED_ERROR, gg_load_relaxed(&error_ppm));
}

void gg_overhead_budget_read(uint32_t *ret_overhead_ppm, uint32_t *ret_error_ppm)
{
	*ret_overhead_ppm = gg_load_relaxed(&overhead_ppm);
	*ret_error_ppm = gg_load_relaxed(&error_ppm);
}

void gg_overhead_budget_set(uint32_t new_overhead_ppm, uint32_t new_error_ppm,
                            uint64_t planned_interval)
{
	if ((new_overhead_ppm == gg_load_relaxed(&overhead_ppm) &&
	     new_error_ppm == gg_load_relaxed(&error_ppm)) ||
	    new_overhead_ppm > GG_PPM || new_error_ppm > GG_PPM ||
	    !gg_overhead_control_serves(gg_process.options.sampler.scheme))
		return;
	gg_store_relaxed(&begin_interval, planned_interval);
	gg_store_relaxed(&overhead_ppm, new_overhead_ppm);
	gg_store_relaxed(&error_ppm, new_error_ppm);
	gg_store_relaxed(&gg_overhead_budget_is_active,
	                 new_overhead_ppm != 0 || new_error_ppm != 0);
	/* Release: pairs with the acquire in begin_if_due(). */
	gg_exchange_acq_rel(&begin_is_due, 1);
	/* A thread that takes a step right now has the turn, and the next step begins then. */
	if (take_turn()) {
		begin_if_due();
		give_turn();
	}
	gg_overhead_budget_publish();
}

void gg_overhead_budget_forked(void)
{
	uint64_t now_ns = gg_clock_monotonic_ns();

	if (!gg_overhead_budget_is_on())
		return;
	/* A thread of the parent may have had the turn, and left a control half written. */
	if (gg_load_relaxed(&is_stepping) != 0)
		gg_store_relaxed(&begin_is_due, 1);
	gg_store_relaxed(&is_stepping, 0);
	gg_exchange_acq_rel(&window.sample_count, 0);
	gg_exchange_acq_rel(&window.free_count, 0);
	gg_exchange_acq_rel(&window.object_count, 0);
	gg_exchange_acq_rel(&window.allocation_count, 0);
	seen_charged_ns = 0;
	walk_ns = 0;
	gg_overhead_control_forget_debt(&control);
	gg_error_target_forked();
	gg_overhead_budget_publish();
	begin_window(now_ns, read_cpu_ns(now_ns));
}
