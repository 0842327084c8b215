/* SPDX-License-Identifier: Apache-2.0 */
/* import_any - imports hostile bytes into a profile in memory, and checks the profile. */
#include "import_any.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void require(bool condition)
{
	if (!condition)
		abort();
}

static int check_aggregate(const struct gg_profile_aggregate *aggregate, void *context)
{
	double bytes = gg_fixed_value(aggregate->sums.bytes),
	       count = gg_fixed_value(aggregate->sums.count);

	(void)context;
	require(aggregate->process > 0 && aggregate->sums.sample_count > 0);
	require(isfinite(bytes) && bytes >= 0 && isfinite(count) && count >= 0);
	require(aggregate->from_ns == 0 && aggregate->to_ns >= 0);
	return 0;
}

static int check_stack(const struct gg_profile_stack *stack, void *context)
{
	uint32_t *last = context;

	require(stack->id == *last + 1 && stack->parent < stack->id && stack->frame > 0);
	*last = stack->id;
	return 0;
}

/*
 * Making a profile takes longer than most imports, so the fuzzer puts many inputs into one, and
 * checks the profile when it is full, and at the end.  A replay, or a fuzzer built with
 * -DFUZZ_EXACT, makes a profile for each input: the file that it found reproduces a crash by
 * itself.
 */
#ifdef FUZZ_EXACT
enum { INPUTS_MAX = 1 };
#else
enum { INPUTS_MAX = 200 };
#endif

static struct gg_profile *profile;
static int input_count;

static void check_profile(void)
{
	struct gg_error error;
	uint32_t last = 0;

	if (profile == NULL)
		return;
	require(gg_profile_each_aggregate(profile, check_aggregate, NULL, &error) == 0);
	require(gg_profile_each_stack(profile, check_stack, &last, &error) == 0);
	require(gg_profile_dangling_count(profile) == 0);
	gg_profile_close(profile);
	profile = NULL;
	input_count = 0;
}

static void prepare_profile(void)
{
	static bool is_registered;
	struct gg_error error;

	if (!is_registered)
		atexit(check_profile);
	is_registered = true;
	if (input_count++ == INPUTS_MAX)
		check_profile();
	if (profile == NULL)
		require(gg_profile_create(&profile, NULL, &error) == 0);
}

int import_any(const struct gg_importer *importer, const uint8_t *data, size_t size)
{
	const struct gg_import_options options = { .ignore_files = true };
	struct gg_import_result result;
	struct gg_error error = { 0 };
	struct gg_input *input;
	int status;

	if (gg_input_of(&input, data, size, "input", &error) < 0)
		return 0; /* damaged compressed data */
	prepare_profile();
	importer->knows(data, size < GG_INPUT_HEAD_BYTES ? size : GG_INPUT_HEAD_BYTES);
	status = gg_import_as(importer, profile, input, &options, &result, &error);
	require(status == 0 || (status == -EBADMSG && error.message[0] != '\0') ||
	        status == -ENOMEM);
	require(status != -EBADMSG || strstr(error.place, "offset") != NULL);
	if (status == 0)
		require(gg_import_session(profile, &result, 1, &error) == 0);
	gg_input_close(input);
	if (INPUTS_MAX == 1)
		check_profile();
	return 0;
}
