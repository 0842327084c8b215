/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi_record - the records of .eh_frame: what functions share (CIE) and what each has (FDE), and
 * how to find the one for a pc.
 *
 * Internal to src/unwind.
 */
#pragma once

#include "unwind/cfi/cfi.h"
#include "unwind/cfi/cfi_read.h"

struct gg_cfi_cie {
	struct cfi_reader instructions; /* the initial ones, of every function */
	uint64_t code_align;            /* unit of advances, bytes */
	int64_t data_align;             /* unit of register offsets, bytes */
	uint64_t ra_register;
	uint8_t fde_encoding; /* of the pointers in its FDEs */
	bool has_fde_data;    /* FDEs carry augmentation data to skip: 'z' */
	bool is_signal;       /* 'S' */
};

struct gg_cfi_fde {
	struct gg_cfi_cie cie;
	struct cfi_reader instructions;
	struct gg_cfi_range function;
};

/* The function that contains pc.  GG_RULE_REASON_UNKNOWN (0): found. */
enum gg_rule_reason gg_cfi_find_fde(const struct gg_cfi_module *module, uint64_t pc,
                                    struct gg_cfi_fde *ret_fde);
