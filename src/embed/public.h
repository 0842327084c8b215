/* SPDX-License-Identifier: Apache-2.0 */
/*
 * public - the headers that embedders include, with what they declare exported.
 *
 * Everything else of libgeiger is hidden, and its map (geiger.map) exports names in geiger_ only.
 */
#pragma once

#pragma GCC visibility push(default)
#include "geiger/bump.h"
#include "geiger/geiger.h"
#pragma GCC visibility pop
