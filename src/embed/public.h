/* SPDX-License-Identifier: Apache-2.0 */
/*
 * public - includes the headers for embedders, and exports the functions that they declare.
 *
 * All other symbols of libgeiger are hidden.  The linker map geiger.map exports only names that
 * begin with geiger_.
 */
#pragma once

#pragma GCC visibility push(default)
#include "geiger/bump.h"
#include "geiger/geiger.h"
#pragma GCC visibility pop
