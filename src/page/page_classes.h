/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_classes - what one sample of a cell adds to a tally, by size, sampling interval and scheme.
 *
 * If there are too many classes, this module rounds sizes and intervals to steps of an octave.  The
 * class is then the mean of its samples, so sums over all samples stay exact.
 */
#pragma once

#include "base/array.h"
#include "base/json.h"
#include "base/map.h"
#include "page/page_run.h"

struct gg_page_class;

struct gg_page_classes {
	struct gg_page_run *run;
	struct gg_map map;
	GG_ARRAY(struct gg_page_class);
	size_t limit;
};

/*
 * Returns the class of pick `number` and adds the pick to it.  A held part is not added, because
 * its block was.  Returns UINT32_MAX if memory runs out or if there are too many classes.
 */
uint32_t gg_page_classify(struct gg_page_classes *classes, const struct gg_page_pick *pick,
                          size_t number);
/* Writes "kinds", the members they refer to, and "classes". */
void gg_page_classes_write(struct gg_page_classes *classes, struct gg_json *json);
void gg_page_classes_done(struct gg_page_classes *classes);
