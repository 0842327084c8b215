/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_paths - the lines by which a node was called, for tables by line.
 *
 * A node stands for a path of functions, which may go through several lines.  A path of the page is
 * one way through lines.  page_paths.c explains how paths are numbered.
 */
#pragma once

#include "base/json.h"
#include "page/page_run.h"
#include "page/page_tree.h"

struct gg_page_paths;

GG_MUST_CHECK int gg_page_paths_build(struct gg_page_run *run, struct gg_page_whole *whole,
                                      struct gg_page_paths **ret_paths);
void gg_page_paths_free(struct gg_page_paths *paths); /* NULL is fine */
/* Adds paths and lines to the last folded tree. */
GG_MUST_CHECK int gg_page_paths_fold(const struct gg_page_paths *paths, bool with_names,
                                     struct gg_page_tree *tree);
/* Writes "lines" and "paths"; writes nothing if the tree has no paths. */
void gg_page_paths_write(struct gg_page_run *run, const struct gg_page_tree *tree, bool with_names,
                         struct gg_json *json);
