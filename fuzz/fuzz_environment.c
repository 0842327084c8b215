/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile environment variables of the agent: what is taken is within its limits.  Each line of the
 * input is a variable, as NAME=VALUE.
 */
#include <stdlib.h>
#include <string.h>

#include "region/control.h"
#include "runtime/environment.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void check(const struct gg_environment *taken)
{
	require(taken->region.interval_bytes >= 1 &&
	        taken->region.interval_bytes <= GG_REGION_INTERVAL_MAX);
	require(taken->startup_bytes == 0 || taken->startup_interval >= 1);
	require(taken->keep <= 512);
	require(strnlen(taken->directory, sizeof(taken->directory)) < sizeof(taken->directory));
	require(strnlen(taken->text, sizeof(taken->text)) < sizeof(taken->text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct gg_environment taken;
	char *text = malloc(size + 1), *rest = text;

	require(text != NULL && clearenv() == 0);
	memcpy(text, data, size);
	text[size] = '\0';
	while (rest != NULL) {
		char *line = strsep(&rest, "\n"), *value = strchr(line, '=');

		if (value == NULL || value == line)
			continue;
		*value++ = '\0';
		/* A log that the input names would be a file that the input makes. */
		if (strcmp(line, "GEIGER_LOG") != 0)
			setenv(line, value, 1);
	}
	setenv("GEIGER_LOG", "/dev/null", 1);
	gg_environment_read(&taken);
	check(&taken);
	free(text);
	return 0;
}
