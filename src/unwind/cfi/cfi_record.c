/* SPDX-License-Identifier: Apache-2.0 */
/* cfi_record - finds and parses the CIE and FDE of a pc. */
#include "unwind/cfi/cfi_record.h"

#include <stddef.h>

/* A record of .eh_frame without its length field: from its id to its end. */
struct record {
	struct cfi_reader body;
	uint64_t id_offset;   /* offset of the id field in the section */
	uint64_t next_offset; /* offset of the next record */
	/* 0: the record is a CIE; otherwise the distance from its CIE to this id */
	uint32_t id;
};

/*
 * Reads a record.  Returns false at the zero length that ends the section, and for a record that
 * does not fit into the section.  A length of UINT32_MAX means that a 64-bit length follows.
 */
static bool read_record(const struct gg_cfi_section *eh_frame, uint64_t offset,
                        struct record *ret_record)
{
	struct cfi_reader r;
	uint64_t length;

	if (offset >= eh_frame->size_bytes)
		return false;
	r = reader_of(eh_frame, offset, eh_frame->size_bytes - offset);
	length = read_u32(&r);
	if (length == UINT32_MAX)
		length = read_u64(&r);
	if (r.failed || length < sizeof(ret_record->id) || length > reader_left(&r))
		return false;
	ret_record->id_offset = eh_frame->size_bytes - reader_left(&r);
	ret_record->next_offset = ret_record->id_offset + length;
	ret_record->body = reader_of(eh_frame, ret_record->id_offset, length);
	ret_record->id = read_u32(&ret_record->body);
	return true;
}

/* Skips the pointer to a personality routine ('P') by its size.  Nothing follows the pointer. */
static bool skip_personality(struct cfi_reader *r)
{
	uint8_t encoding = read_u8(r);
	uint64_t number;

	if (encoding == PE_OMIT)
		return true;
	if ((encoding & PE_BASE) == PE_ALIGNED) {
		read_bytes(r, -reader_address(r) & 7);
		encoding = PE_ABSPTR;
	}
	return read_encoded_number(r, encoding, &number);
}

/*
 * Reads the augmentation data by the letters after 'z'.  An unknown letter ends the loop without an
 * error: 'z' gives the size of the data, so the start of the instructions is known anyway.
 */
static enum gg_rule_reason read_augmentation(const uint8_t *letters, struct cfi_reader *data,
                                             struct gg_cfi_cie *cie)
{
	for (; *letters != '\0'; letters++) {
		switch (*letters) {
		case 'R':
			cie->fde_encoding = read_u8(data);
			break;
		case 'P':
			if (!skip_personality(data))
				return GG_RULE_REASON_BAD_POINTER;
			break;
		case 'L':
			read_u8(data);
			break;
		case 'S':
			cie->is_signal = true;
			break;
		case 'B': /* aarch64: signed with key B; unwinding strips the signature unchecked */
		case 'G': /* aarch64: the memory of the frame is tagged */
			break;
		default:
			return GG_RULE_REASON_UNKNOWN;
		}
	}
	return data->failed ? GG_RULE_REASON_TRUNCATED : GG_RULE_REASON_UNKNOWN;
}

enum {
	AUGMENTATION_MAX = 16 /* letters; real augmentations have 4 */
};

/* Returns the text up to its 0 byte, or NULL if the next AUGMENTATION_MAX + 1 bytes have no 0. */
static const uint8_t *read_text(struct cfi_reader *r)
{
	const uint8_t *text = r->at;

	for (int i = 0; i <= AUGMENTATION_MAX; i++) {
		if (read_u8(r) == 0)
			return r->failed ? NULL : text;
	}
	return NULL;
}

/*
 * Reads the CIE at an offset of the section.  The layout depends on the version: 4 adds the sizes
 * of addresses and segment selectors, and 1 has a byte as the register of the return address.  The
 * bounds of `data` keep the augmentation from reading into the instructions.
 */
static enum gg_rule_reason read_cie(const struct gg_cfi_module *module, uint64_t offset,
                                    struct gg_cfi_cie *cie)
{
	struct record record;
	struct cfi_reader *r = &record.body, data;
	const uint8_t *augmentation;
	uint64_t data_bytes;
	uint8_t version;
	enum gg_rule_reason reason;

	if (!read_record(&module->eh_frame, offset, &record))
		return GG_RULE_REASON_TRUNCATED;
	version = read_u8(r);
	augmentation = read_text(r);
	if (augmentation == NULL)
		return GG_RULE_REASON_TRUNCATED;
	if (record.id != 0 || (version != 1 && version != 3 && version != 4))
		return GG_RULE_REASON_BAD_CIE;
	if (augmentation[0] == 'e' && augmentation[1] == 'h') {
		read_u64(r); /* a pointer that gcc 2 wrote */
		augmentation += 2;
	}
	/* Sizes of an address and of a segment. */
	if (version == 4 && (read_u8(r) != 8 || read_u8(r) != 0))
		return GG_RULE_REASON_BAD_CIE;
	cie->code_align = read_uleb(r);
	cie->data_align = read_sleb(r);
	cie->ra_register = version == 1 ? read_u8(r) : read_uleb(r);
	cie->fde_encoding = PE_ABSPTR;
	cie->has_fde_data = augmentation[0] == 'z';
	cie->is_signal = false;
	if (cie->has_fde_data) {
		data_bytes = read_uleb(r);
		data = *r;
		if (read_bytes(r, data_bytes) == NULL)
			return GG_RULE_REASON_TRUNCATED;
		data.address -= reader_left(r);
		data.end = r->at;
		reason = read_augmentation(augmentation + 1, &data, cie);
		if (reason != GG_RULE_REASON_UNKNOWN)
			return reason;
	} else if (augmentation[0] != '\0') {
		return GG_RULE_REASON_BAD_CIE;
	}
	cie->instructions = *r;
	return r->failed ? GG_RULE_REASON_TRUNCATED : GG_RULE_REASON_UNKNOWN;
}

/* Reads the FDE of a record.  The function begins at 0 if the linker dropped it. */
static enum gg_rule_reason read_fde(const struct gg_cfi_module *module, struct record *record,
                                    struct gg_cfi_fde *fde)
{
	const struct bases bases = { .text = module->text_base, .data = module->data_base };
	struct cfi_reader *r = &record->body;
	uint64_t begin, bytes;
	enum gg_rule_reason reason;

	if (record->id == 0)
		return GG_RULE_REASON_TRUNCATED;
	/*
	 * If the id leads to before the section, the unsigned offset wraps around to beyond its
	 * end.
	 */
	reason = read_cie(module, record->id_offset - record->id, &fde->cie);
	if (reason != GG_RULE_REASON_UNKNOWN)
		return reason;
	if (!read_encoded(r, fde->cie.fde_encoding, &bases, &begin) ||
	    !read_encoded_number(r, fde->cie.fde_encoding, &bytes))
		return GG_RULE_REASON_BAD_POINTER;
	if (fde->cie.has_fde_data)
		read_bytes(r, read_uleb(r));
	if (r->failed)
		return GG_RULE_REASON_TRUNCATED;
	if (bytes > UINT64_MAX - begin)
		return GG_RULE_REASON_RANGE;
	fde->function = (struct gg_cfi_range){ begin, begin + bytes };
	fde->instructions = *r;
	return GG_RULE_REASON_UNKNOWN;
}

static bool contains(const struct gg_cfi_fde *fde, uint64_t pc)
{
	return fde->function.begin != 0 && pc >= fde->function.begin && pc < fde->function.end;
}

/*
 * The search table of .eh_frame_hdr: pairs of pointers (first pc, FDE), all of one size, sorted by
 * pc.  The code does not trust its size, its order, or the places where its pointers lead.
 */
struct cfi_table {
	struct gg_cfi_section section; /* from the first entry to the end of the table */
	struct bases bases;
	uint64_t entry_count;
	uint8_t encoding;
	unsigned pointer_bytes;
};

/*
 * Reads the head of the table.  Returns false if the module has no table that can be searched:
 * entries of variable size have no binary search.
 */
static bool read_table(const struct gg_cfi_module *module, struct cfi_table *ret_table)
{
	const struct gg_cfi_section *hdr = &module->eh_frame_hdr;
	const struct bases bases = { .text = module->text_base, .data = hdr->address };
	struct cfi_reader r = reader_of(hdr, 0, hdr->size_bytes);
	uint8_t version = read_u8(&r), eh_frame_encoding = read_u8(&r);
	uint8_t count_encoding = read_u8(&r), encoding = read_u8(&r);
	uint64_t eh_frame, count;

	if (r.failed || version != 1 || count_encoding == PE_OMIT || encoding == PE_OMIT)
		return false;
	if (!read_encoded(&r, eh_frame_encoding, &bases, &eh_frame) ||
	    !read_encoded(&r, count_encoding, &bases, &count))
		return false;
	ret_table->pointer_bytes = encoded_size(encoding);
	if (r.failed || ret_table->pointer_bytes == 0)
		return false;
	ret_table->section = (struct gg_cfi_section){ r.at, reader_left(&r), reader_address(&r) };
	ret_table->bases = bases;
	ret_table->encoding = encoding;
	ret_table->entry_count = count;
	return count > 0 && count <= ret_table->section.size_bytes / (2 * ret_table->pointer_bytes);
}

static bool read_entry(const struct cfi_table *table, uint64_t index, uint64_t *ret_pc,
                       uint64_t *ret_fde)
{
	unsigned entry_bytes = 2 * table->pointer_bytes;
	struct cfi_reader r = reader_of(&table->section, index * entry_bytes, entry_bytes);

	return read_encoded(&r, table->encoding, &table->bases, ret_pc) &&
	       read_encoded(&r, table->encoding, &table->bases, ret_fde);
}

/*
 * Reads the pc of an entry in the form that every linker writes: 32 bits, relative to the header.
 */
static int32_t quick_pc(const struct cfi_table *table, uint64_t index)
{
	int32_t pc;

	memcpy(&pc, table->section.bytes + 8 * index, sizeof(pc));
	return pc;
}

/* Finds the last entry that starts at or before pc. */
static bool search_quickly(const struct cfi_table *table, uint64_t pc, uint64_t *ret_fde)
{
	int64_t wanted = (int64_t)(pc - table->bases.data);
	uint64_t low = 0, count = table->entry_count, first;

	if (wanted < quick_pc(table, 0))
		return false;
	/*
	 * Invariant: the entry is in [low, low + count).  The loop compiles to conditional moves.
	 */
	while (count > 1) {
		uint64_t half = count / 2;

		low = quick_pc(table, low + half) <= wanted ? low + half : low;
		count -= half;
	}
	return read_entry(table, low, &first, ret_fde);
}

/*
 * Finds the last entry that starts at or before pc, in a table of any encoding.  An unsorted table
 * gives a wrong entry, which contains() refuses.
 */
static bool search(const struct cfi_table *table, uint64_t pc, uint64_t *ret_fde)
{
	uint64_t low = 0, count = table->entry_count, first, fde;

	if (table->encoding == (PE_DATAREL | PE_SDATA4))
		return search_quickly(table, pc, ret_fde);
	if (!read_entry(table, 0, &first, &fde) || pc < first)
		return false;
	while (count > 1) {
		uint64_t half = count / 2;

		if (!read_entry(table, low + half, &first, &fde))
			return false;
		low = first <= pc ? low + half : low;
		count -= half;
	}
	return read_entry(table, low, &first, ret_fde);
}

static enum gg_rule_reason find_by_table(const struct gg_cfi_module *module,
                                         const struct cfi_table *table, uint64_t pc,
                                         struct gg_cfi_fde *ret_fde)
{
	struct record record;
	uint64_t address;
	enum gg_rule_reason reason;

	if (!search(table, pc, &address))
		return GG_RULE_REASON_NO_FDE;
	if (!read_record(&module->eh_frame, address - module->eh_frame.address, &record))
		return GG_RULE_REASON_TRUNCATED;
	reason = read_fde(module, &record, ret_fde);
	if (reason == GG_RULE_REASON_UNKNOWN && !contains(ret_fde, pc))
		reason = GG_RULE_REASON_NO_FDE;
	return reason;
}

/*
 * Searches a module without a table: reads one record after the other.  A damaged FDE is skipped,
 * so it hides no other function.
 */
static enum gg_rule_reason find_by_walk(const struct gg_cfi_module *module, uint64_t pc,
                                        struct gg_cfi_fde *ret_fde)
{
	struct record record;
	uint64_t offset = 0;

	for (int i = 0; i < GG_CFI_RECORDS_MAX; i++) {
		if (!read_record(&module->eh_frame, offset, &record))
			return GG_RULE_REASON_NO_FDE;
		offset = record.next_offset;
		if (record.id != 0 &&
		    read_fde(module, &record, ret_fde) == GG_RULE_REASON_UNKNOWN &&
		    contains(ret_fde, pc))
			return GG_RULE_REASON_UNKNOWN;
	}
	return GG_RULE_REASON_TOO_LONG;
}

enum gg_rule_reason gg_cfi_find_fde(const struct gg_cfi_module *module, uint64_t pc,
                                    struct gg_cfi_fde *ret_fde)
{
	struct cfi_table table;

	if (read_table(module, &table))
		return find_by_table(module, &table, pc, ret_fde);
	return find_by_walk(module, pc, ret_fde);
}

bool gg_cfi_function_at(const struct gg_cfi_module *module, uint64_t pc,
                        struct gg_cfi_range *ret_function)
{
	struct cfi_table table;
	struct gg_cfi_fde fde;

	if (!read_table(module, &table) ||
	    find_by_table(module, &table, pc, &fde) != GG_RULE_REASON_UNKNOWN)
		return false;
	*ret_function = fde.function;
	return true;
}

bool gg_cfi_next_function(const struct gg_cfi_module *module, size_t *position,
                          struct gg_cfi_range *ret_function)
{
	struct record record;
	struct gg_cfi_fde fde;

	while (read_record(&module->eh_frame, *position, &record)) {
		*position = (size_t)record.next_offset;
		if (record.id == 0 || read_fde(module, &record, &fde) != GG_RULE_REASON_UNKNOWN ||
		    fde.function.begin == 0 || fde.function.begin == fde.function.end)
			continue;
		*ret_function = fde.function;
		return true;
	}
	return false;
}
