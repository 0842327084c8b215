/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_any - hostile agents of other projects, for the fuzz targets of all parsers of a receiver.
 *
 * A request that is taken has items and labels inside its bounds, and a profile has rows whose
 * numbers belong to its model; a list of targets has addresses.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum fleet_parser {
	FLEET_PUSH,
	FLEET_PUSH_JSON,
	FLEET_INGEST, /* the Content-Type and the address's name are the first two lines */
	FLEET_TARGETS,
	FLEET_PPROF,
	FLEET_OTLP,
};

int fleet_any(enum fleet_parser parser, const uint8_t *data, size_t size);
