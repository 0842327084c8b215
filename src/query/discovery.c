/* SPDX-License-Identifier: Apache-2.0 */
/* discovery - gathers p-values of rows, and puts q-values in their place. */
#include "query/discovery.h"

#include <errno.h>
#include <stdlib.h>

#include "stats/estimate/compare.h"

int gg_discovery_run(double *first, size_t stride_bytes, size_t count)
{
	double *values = malloc((count + 1) * sizeof(*values));
	size_t *order = malloc((count + 1) * sizeof(*order));
	char *place = (char *)first;
	int status = -ENOMEM;

	if (values == NULL || order == NULL)
		goto out;
	for (size_t i = 0; i < count; i++)
		values[i] = *(const double *)(const void *)(place + i * stride_bytes);
	gg_false_discovery(values, count, order);
	for (size_t i = 0; i < count; i++)
		*(double *)(void *)(place + i * stride_bytes) = values[i];
	status = 0;
out:
	free(values);
	free(order);
	return status;
}
