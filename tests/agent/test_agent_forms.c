/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_agent_forms - allocates and frees in every way over the allocator FORMS_ALLOCATOR.
 *
 * Without that variable, the allocator is glibc's.  Each allocation is recorded once, with its
 * size, and so is each free.  Functions that the allocator does not have do not appear.  Every
 * allocation is a sample (interval 1).
 */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/forms.h"
#include "agent/inside.h"
#include "base/compiler.h"
#include "random.h"
#include "test.h"

INSIDE("GEIGER_INTERVAL=1")

/* How the tests come to the forms: linked into the program, or in a library that is loaded now. */
static void *library(void)
{
	static void *loaded;

	if (loaded == NULL)
		loaded = dlopen(getenv("FORMS_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
	if (loaded == NULL)
		printf("%s\n", dlerror());
	return loaded;
}

static const struct form *forms_of_library(void)
{
	forms_function *function = (forms_function *)dlsym(library(), "forms");

	return function();
}

/* Samples, frees and missed frees so far; what reading them allocates is the same each time. */
struct counts {
	uint64_t samples, frees, missed;
};

static struct counts read_counts(void)
{
	struct gg_region_view view = inside_view();
	struct counts counts = { view.header.counters[GG_COUNT_SAMPLES],
		                 view.header.counters[GG_COUNT_FREES],
		                 view.header.counters[GG_COUNT_MISSED_FREES] };

	gg_region_view_done(&view);
	return counts;
}

/* Since `before`, less what a reading itself does. */
static struct counts counts_since(const struct counts *before)
{
	struct counts now = read_counts(), again = read_counts();

	return (struct counts){ now.samples - before->samples - (again.samples - now.samples),
		                now.frees - before->frees - (again.frees - now.frees),
		                now.missed - before->missed };
}

/* Counts the calls of the program's own operators, if it has any. */
__attribute__((weak)) unsigned long forms_own_calls(void);

/* The size that reaches the allocator: libstdc++ rounds aligned blocks up to the alignment. */
static size_t size_asked(const struct form *form, size_t bytes)
{
	bool is_rounded = getenv("FORMS_ALLOCATOR") == NULL && forms_own_calls == NULL &&
	                  strncmp(form->name, "new", 3) == 0 &&
	                  strstr(form->name, "aligned") != NULL;

	return is_rounded ? (bytes + 127) & ~(size_t)127 : bytes;
}

/* Only calls of operator new lead to the program's own operators. */
static void check_own_calls(const struct form *form, unsigned long calls)
{
	bool is_operator = strncmp(form->name, "new", 3) == 0;

	if (forms_own_calls != NULL)
		CHECK_MSG(forms_own_calls() - calls == (is_operator ? 1 : 0),
		          "%s: called %lu times", form->name, forms_own_calls() - calls);
}

static void check_each_form(const struct form *forms)
{
	read_counts();
	for (const struct form *form = forms; form->name != NULL; form++) {
		unsigned long calls = forms_own_calls != NULL ? forms_own_calls() : 0;
		struct counts before = read_counts(), since;
		void *p = form->allocate(1000);

		check_own_calls(form, calls);
		since = counts_since(&before);
		CHECK_MSG(since.samples == 1, "%s: recorded %ld times", form->name,
		          (long)since.samples);
		CHECK_MSG(inside_live(p).size_bytes == size_asked(form, 1000),
		          "%s: recorded with %lu bytes", form->name,
		          (unsigned long)inside_live(p).size_bytes);
		before = read_counts();
		form->release(p, 1000);
		since = counts_since(&before);
		CHECK_MSG(since.frees == 1 && since.samples == 0 && since.missed == 0,
		          "%s: its free was recorded %ld times", form->name, (long)since.frees);
	}
}

TEST(each_form_in_the_program_is_recorded_once)
{
	check_each_form(forms());
}

TEST(each_form_in_a_library_that_is_loaded_later_is_recorded_once)
{
	if (CHECK(library() != NULL))
		check_each_form(forms_of_library());
}

enum { SLOTS = 3000, STEPS = 60000 };

static struct slot {
	void *p;
	size_t bytes;
	const struct form *form;
} slots[SLOTS];

static size_t random_size(uint64_t r)
{
	return r % 50 == 0 ? 1 + (r >> 16) % 200000 : 1 + (r >> 16) % 700;
}

static int compare_slots(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)((const struct slot *)a)->p;
	uintptr_t y = (uintptr_t)((const struct slot *)b)->p;

	return (x > y) - (x < y);
}

static int compare_samples(const void *a, const void *b)
{
	uint64_t x = ((const struct gg_region_sample *)a)->address;
	uint64_t y = ((const struct gg_region_sample *)b)->address;

	return (x > y) - (x < y);
}

/* The live blocks are those on record: in both, with the same sizes, and none else is. */
static void check_live(const char *why)
{
	struct gg_region_view view = inside_view();
	size_t missing = 0, other_size = 0, at = 0;

	qsort(slots, SLOTS, sizeof(slots[0]), compare_slots);
	qsort(view.live, view.live_count, sizeof(view.live[0]), compare_samples);
	for (size_t i = 0; i < SLOTS; i++) {
		if (slots[i].p == NULL)
			continue;
		while (at < view.live_count && view.live[at].address < (uintptr_t)slots[i].p)
			at++;
		if (at == view.live_count || view.live[at].address != (uintptr_t)slots[i].p)
			missing++;
		else if (view.live[at].size_bytes != size_asked(slots[i].form, slots[i].bytes))
			other_size++;
	}
	gg_region_view_done(&view);
	CHECK_MSG(missing == 0, "%s: %zu blocks are not on record", why, missing);
	CHECK_MSG(other_size == 0, "%s: %zu blocks have another size", why, other_size);
}

static uint64_t live_count(void)
{
	struct gg_region_view view = inside_view();
	uint64_t count = view.live_count;

	gg_region_view_done(&view);
	return count;
}

/* Uses all forms at random, and compares the counts. */
static void churn(const struct form *forms, uint64_t seed)
{
	uint64_t random = seed, allocations = 0, frees = 0, live_before = live_count(), live = 0;
	struct counts before = read_counts(), since;
	size_t form_count = 0;

	while (forms[form_count].name != NULL)
		form_count++;
	for (int i = 0; i < STEPS; i++) {
		uint64_t r = random_next(&random);
		struct slot *slot = &slots[r % SLOTS];

		if (slot->p == NULL) {
			slot->form = &forms[(r >> 32) % form_count];
			slot->bytes = random_size(random_next(&random));
			slot->p = slot->form->allocate(slot->bytes);
			allocations++;
			live++;
		} else if (slot->form->resize != NULL && (r >> 32) % 2 == 0) {
			slot->bytes = random_size(random_next(&random));
			slot->p = slot->form->resize(slot->p, &slot->bytes);
			allocations++;
			frees++;
		} else {
			slot->form->release(slot->p, slot->bytes);
			slot->p = NULL;
			frees++;
			live--;
		}
	}
	since = counts_since(&before);
	CHECK_MSG(since.samples == allocations, "%ld of %ld allocations", (long)since.samples,
	          (long)allocations);
	CHECK_MSG(since.frees == frees, "%ld of %ld frees", (long)since.frees, (long)frees);
	CHECK_MSG(since.missed == 0, "%ld frees missed", (long)since.missed);
	check_live("amid");
	CHECK_MSG(live_count() == live_before + live, "%ld live, not %ld",
	          (long)(live_count() - live_before), (long)live);
	for (size_t i = 0; i < SLOTS; i++)
		if (slots[i].p != NULL) {
			slots[i].form->release(slots[i].p, slots[i].bytes);
			slots[i].p = NULL;
		}
	CHECK_MSG(live_count() == live_before, "%ld are left live",
	          (long)(live_count() - live_before));
	CHECK(inside_is_consistent());
}

TEST(all_forms_mixed_are_counted_exactly)
{
	churn(forms(), 1);
	if (CHECK(library() != NULL))
		churn(forms_of_library(), 2);
}

/* A vfork child has its parent's memory, so what it allocates and frees is its parent's. */
TEST(what_a_vfork_child_allocates_in_each_form_is_its_parents)
{
	static void *from_child;

	for (const struct form *form = forms(); form->name != NULL; form++) {
		void *p = form->allocate(500);
		struct counts before = read_counts(), since;
		pid_t child;
		int status = -1;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
		child = vfork();
#pragma GCC diagnostic pop
		if (child == 0) {
			from_child = form->allocate(600);
			form->release(p, 500);
			_exit(0);
		}
		waitpid(child, &status, 0);
		since = counts_since(&before);
		CHECK_MSG(status == 0 && since.samples == 1 && since.frees == 1,
		          "%s: %ld allocations, %ld frees", form->name, (long)since.samples,
		          (long)since.frees);
		form->release(from_child, 600);
	}
	CHECK(inside_is_consistent());
}

static void *use_all(void *argument)
{
	for (int i = 0; i < 300; i++)
		for (const struct form *form = forms(); form->name != NULL; form++)
			form->release(form->allocate(100), 100);
	return argument;
}

TEST(threads_that_use_all_forms_at_once_leave_nothing)
{
	enum { THREADS = 4 };
	pthread_t threads[THREADS];
	uint64_t allocations = 0, live;
	struct counts before, since;

	for (const struct form *form = forms(); form->name != NULL; form++)
		allocations += THREADS * 300;
	live = live_count();
	before = read_counts();
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, use_all, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	since = counts_since(&before);
	/* libc adds a few blocks for each thread, which stay. */
	CHECK_MSG(since.samples >= allocations && since.samples <= allocations + 8 * THREADS,
	          "%ld of %ld allocations", (long)since.samples, (long)allocations);
	CHECK_MSG(since.missed == 0, "%ld frees missed", (long)since.missed);
	CHECK_MSG(live_count() <= live + 8 * THREADS, "%ld are left live",
	          (long)(live_count() - live));
	CHECK(inside_is_consistent());
}

/*
 * jemalloc's operator new gets aligned blocks from its aligned_alloc(), so their bytes pass the
 * sampler twice.  Samples must not become more frequent by that.  The bound is 6 standard
 * deviations.
 */
TEST(at_an_interval_each_form_is_sampled_as_often_as_its_size_says)
{
	enum { COUNT = 40000, BYTES = 64, INTERVAL = 1024 };

	inside_control(true, INTERVAL);
	free(malloc(9 << 20)); /* the thread looks at its settings */
	for (const struct form *form = forms(); form->name != NULL; form++) {
		const double p = 1 - exp(-(double)size_asked(form, BYTES) / INTERVAL);
		struct counts before = read_counts(), after;
		double samples;

		for (int i = 0; i < COUNT; i++)
			form->release(form->allocate(BYTES), BYTES);
		after = read_counts();
		samples = (double)(after.samples - before.samples);
		/* Reading them samples a few of its own: five, when counted at interval 1. */
		CHECK_MSG(fabs(samples - COUNT * p) < 6 * sqrt(COUNT * p * (1 - p)) + 5,
		          "%s: %.0f samples, not %.0f", form->name, samples, COUNT * p);
		CHECK_MSG(after.missed == before.missed, "%s: missed frees", form->name);
	}
	inside_control(true, 1);
	free(malloc(9 << 20));
}

TEST(what_operator_new_throws_comes_through)
{
	const char *allocator = getenv("FORMS_ALLOCATOR");

	/* It is C, and aborts. */
	if (allocator != NULL && strstr(allocator, "mimalloc") != NULL)
		SKIP("mimalloc cannot throw");
	for (int i = 0; i < 100; i++) {
		CHECK(forms_throw(SIZE_MAX / 4));
		CHECK(forms_throw((size_t)PTRDIFF_MAX - 65536));
	}
	check_each_form(forms());
}

static bool is_of_agent(const void *p)
{
	Dl_info info;

	return dladdr(p, &info) != 0 && strstr(info.dli_fname, "geiger-agent") != NULL;
}

/* The agent does not wrap functions that neither allocate nor free. */
static bool is_left_alone(const char *name)
{
	return strcmp(name, "sallocx") == 0 || strcmp(name, "nallocx") == 0 ||
	       strcmp(name, "tc_malloc_size") == 0;
}

static void check_weak(forms_weak_function *weak, const char *where)
{
	const char *allocator = getenv("FORMS_ALLOCATOR"), *name;
	void *handle = allocator != NULL ? dlopen(allocator, RTLD_NOW | RTLD_NOLOAD) : NULL;

	CHECK(allocator == NULL || handle != NULL);
	for (size_t i = 0; weak(i, &name), name != NULL; i++) {
		const void *address = weak(i, &name), *found = dlsym(RTLD_DEFAULT, name);
		bool has = handle != NULL && dlsym(handle, name) != NULL;

		CHECK_MSG((address != NULL) == has, "%s: &%s is %p", where, name, address);
		/* An agent that is attached changes slots, and not what dlsym() finds. */
		CHECK_MSG(found == address || getenv("INSIDE_ATTACH") != NULL,
		          "%s: dlsym() finds %s at %p, not at %p", where, name, found, address);
		CHECK_MSG(!has || is_of_agent(address) == !is_left_alone(name),
		          "%s: %s is not whose it should be", where, name);
	}
	if (handle != NULL)
		dlclose(handle);
}

TEST(a_program_that_asks_for_a_function_hears_the_truth)
{
	check_weak(forms_weak, "program");
	if (CHECK(library() != NULL))
		check_weak((forms_weak_function *)dlsym(library(), "forms_weak"), "library");
}
