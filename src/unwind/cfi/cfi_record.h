/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi_record - finds the record of .eh_frame that describes a pc.
 *
 * Functions share a CIE, and each function has its own FDE.  Internal to src/unwind.
 */
#pragma once

#include "unwind/cfi/cfi.h"
#include "unwind/cfi/cfi_read.h"

struct gg_cfi_cie {
	struct cfi_reader instructions; /* initial instructions of every function */
	uint64_t code_align;            /* unit of advances in bytes */
	int64_t data_align;             /* unit of register offsets in bytes */
	uint64_t ra_register;
	uint8_t fde_encoding; /* encoding of the pointers in its FDEs */
	bool has_fde_data;    /* 'z': FDEs have augmentation data to skip */
	bool is_signal;       /* 'S': its functions are signal trampolines */
};

struct gg_cfi_fde {
	struct gg_cfi_cie cie;
	struct cfi_reader instructions;
	struct gg_cfi_range function;
};

/*
 * Finds the function that contains pc.  Returns GG_RULE_REASON_UNKNOWN (0) if there is one,
 * otherwise the reason.
 */
enum gg_rule_reason gg_cfi_find_fde(const struct gg_cfi_module *module, uint64_t pc,
                                    struct gg_cfi_fde *ret_fde);
