/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_names - the texts, modules and frames of a page, and their numbers in the page.
 *
 * Other modules ask for numbers while they write their members.  gg_page_names_write() comes last,
 * when all names are known.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/json.h"
#include "base/map.h"
#include "model/model.h"

enum gg_page_frame_flags {
	GG_PAGE_FRAME_ADDRESS = 1 << 0,    /* the name was made of an address */
	GG_PAGE_FRAME_LIBRARY = 1 << 1,    /* of a library of the system, or start code */
	GG_PAGE_FRAME_START_CODE = 1 << 2, /* starts the program or a thread */
};

struct gg_page_frame {
	uint32_t name, full, file, line, module, flags;
};

struct gg_page_module {
	uint32_t name, path, build_id, status;
};

/* Texts, modules and frames, with the numbers that the page uses for them. */
struct gg_page_names {
	const struct gg_model *model;
	struct gg_map texts;  /* the index of `strings` */
	struct gg_map labels; /* index of frames by name and module */
	GG_ARRAY(char *) strings;
	GG_ARRAY(struct gg_page_frame) frames;
	GG_ARRAY(struct gg_page_module) modules;
	uint32_t *frame_of; /* by function; 0: not yet assigned */
	uint32_t *file_of;  /* by function: the file of its first line that has one */
	uint8_t *is_own;    /* by module of the model: it belongs to the program's own code */
	bool failed;        /* memory ran out */
};

GG_MUST_CHECK int gg_page_names_init(struct gg_page_names *names, const struct gg_model *model);
void gg_page_names_done(struct gg_page_names *names);
uint32_t gg_page_string(struct gg_page_names *names, const char *text); /* NULL gets 0 */
uint32_t gg_page_frame_of(struct gg_page_names *names, uint32_t function);
/* The frame of a function of another model, found by its label.  A new frame gets `module`. */
uint32_t gg_page_frame_like(struct gg_page_names *names, const struct gg_model *other,
                            uint32_t function);
void gg_page_names_write(const struct gg_page_names *names, struct gg_json *json);
