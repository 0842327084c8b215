/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/names/rust_v0.h"

#include <ctype.h>
#include <string.h>

#include "symbol/names/demangle.h"

static void type(struct gg_v0 *v);

static void generic_argument(struct gg_v0 *v)
{
	if (gg_v0_eat(v, 'L'))
		gg_v0_print_lifetime(v, gg_v0_base_62(v));
	else if (gg_v0_eat(v, 'K'))
		gg_v0_constant(v, false);
	else
		type(v);
}

/* The arguments behind an I path, up to E; in the short form three dots. */
static void generic_arguments(struct gg_v0 *v)
{
	bool first = true;

	if (v->is_short) {
		gg_v0_print(v, "...");
		v->quiet++;
	}
	while (gg_v0_more(v)) {
		if (!first)
			gg_v0_print(v, ", ");
		first = false;
		generic_argument(v);
	}
	if (v->is_short)
		v->quiet--;
}

/* <T>, <T as Trait>. */
static void qualified(struct gg_v0 *v, char tag)
{
	if (tag != 'Y') { /* where the impl stands; not shown */
		v->quiet++;
		gg_v0_optional_62(v, 's');
		gg_v0_path(v, false);
		v->quiet--;
	}
	gg_v0_print(v, "<");
	type(v);
	if (tag != 'M') {
		gg_v0_print(v, " as ");
		gg_v0_path(v, false);
	}
	gg_v0_print(v, ">");
}

static void nested(struct gg_v0 *v, bool in_value)
{
	char space = gg_v0_next(v);
	struct gg_v0_identifier id;

	if (!isalpha((unsigned char)space))
		v->failed = true;
	gg_v0_path(v, in_value);
	id = gg_v0_identifier(v);
	if (isupper((unsigned char)space)) {
		char text[] = { space, '\0' };

		gg_v0_print(v, "::{");
		gg_v0_print(v, space == 'C' ? "closure" : space == 'S' ? "shim" : text);
		if (id.length > 0)
			gg_v0_print(v, ":");
		gg_v0_print_identifier(v, &id);
		gg_v0_print(v, "#");
		gg_v0_print_number(v, id.disambiguator);
		gg_v0_print(v, "}");
	} else if (id.length > 0) {
		gg_v0_print(v, "::");
		gg_v0_print_identifier(v, &id);
	}
}

void gg_v0_path(struct gg_v0 *v, bool in_value)
{
	struct gg_v0_identifier id;
	size_t back;
	char tag;

	if (!gg_v0_enter(v))
		return;
	tag = gg_v0_next(v);
	switch (tag) {
	case 'C':
		id = gg_v0_identifier(v);
		gg_v0_print_identifier(v, &id);
		break;
	case 'N':
		nested(v, in_value);
		break;
	case 'M':
	case 'X':
	case 'Y':
		qualified(v, tag);
		break;
	case 'I':
		gg_v0_path(v, in_value);
		gg_v0_print(v, in_value ? "::<" : "<");
		generic_arguments(v);
		gg_v0_print(v, ">");
		break;
	case 'B':
		back = gg_v0_follow(v);
		if (v->quiet == 0) /* else it has been checked at its own place */
			gg_v0_path(v, in_value);
		v->at = back;
		break;
	default:
		v->failed = true;
	}
	gg_v0_leave(v);
}

static const char *basic_type(char tag)
{
	switch (tag) {
	case 'a':
		return "i8";
	case 'b':
		return "bool";
	case 'c':
		return "char";
	case 'd':
		return "f64";
	case 'e':
		return "str";
	case 'f':
		return "f32";
	case 'h':
		return "u8";
	case 'i':
		return "isize";
	case 'j':
		return "usize";
	case 'l':
		return "i32";
	case 'm':
		return "u32";
	case 'n':
		return "i128";
	case 'o':
		return "u128";
	case 'p':
		return "_";
	case 's':
		return "i16";
	case 't':
		return "u16";
	case 'u':
		return "()";
	case 'v':
		return "...";
	case 'x':
		return "i64";
	case 'y':
		return "u64";
	case 'z':
		return "!";
	default:
		return NULL;
	}
}

/* "for<'a, 'b> "; returns how many lifetimes it names, which the caller takes back. */
static uint64_t binder(struct gg_v0 *v)
{
	uint64_t count = gg_v0_optional_62(v, 'G');

	if (count == 0)
		return 0;
	/* Each takes part in the text, so a hostile count ends at the bound of the text; quiet, it
	 * is never counted up to. */
	if (v->bound_lifetimes > UINT64_MAX - count) {
		v->failed = true;
		return 0;
	}
	if (v->quiet > 0) {
		v->bound_lifetimes += count;
		return count;
	}
	gg_v0_print(v, "for<");
	for (uint64_t i = 0; i < count && !v->failed; i++) {
		if (i > 0)
			gg_v0_print(v, ", ");
		v->bound_lifetimes++;
		gg_v0_print_lifetime(v, 1);
	}
	gg_v0_print(v, "> ");
	return count;
}

static void abi(struct gg_v0 *v)
{
	struct gg_v0_identifier id;

	gg_v0_print(v, "extern \"");
	if (gg_v0_eat(v, 'C')) {
		gg_v0_print(v, "C");
	} else {
		id = gg_v0_undisambiguated(v);
		if (id.is_punycode || id.length == 0)
			v->failed = true;
		for (size_t i = 0; i < id.length && !v->failed; i++)
			gg_v0_print_bytes(v, id.text[i] == '_' ? "-" : id.text + i, 1);
	}
	gg_v0_print(v, "\" ");
}

static void function_type(struct gg_v0 *v)
{
	uint64_t outer = v->bound_lifetimes;
	bool first = true;

	binder(v);
	if (gg_v0_eat(v, 'U'))
		gg_v0_print(v, "unsafe ");
	if (gg_v0_eat(v, 'K'))
		abi(v);
	gg_v0_print(v, "fn(");
	while (gg_v0_more(v)) {
		if (!first)
			gg_v0_print(v, ", ");
		first = false;
		type(v);
	}
	gg_v0_print(v, ")");
	if (!gg_v0_eat(v, 'u')) { /* () is not shown */
		gg_v0_print(v, " -> ");
		type(v);
	}
	v->bound_lifetimes = outer;
}

/* A trait's path whose generic arguments, if any, are not closed yet: true if they are open. */
static bool open_path(struct gg_v0 *v)
{
	bool is_open = false;
	size_t back;

	if (!gg_v0_enter(v))
		return false;
	if (gg_v0_eat(v, 'B')) {
		back = gg_v0_follow(v);
		if (v->quiet == 0)
			is_open = open_path(v);
		v->at = back;
	} else if (gg_v0_eat(v, 'I')) {
		gg_v0_path(v, false);
		gg_v0_print(v, "<");
		generic_arguments(v);
		is_open = true;
	} else {
		gg_v0_path(v, false);
	}
	gg_v0_leave(v);
	return is_open;
}

static void dyn_trait(struct gg_v0 *v)
{
	bool is_open = open_path(v), is_hidden = v->is_short && gg_v0_peek(v) == 'p';
	struct gg_v0_identifier id;

	if (is_hidden) { /* Iterator<...>, whatever its items are */
		gg_v0_print(v, is_open ? "" : "<...");
		is_open = true;
		v->quiet++;
	}
	while (gg_v0_eat(v, 'p')) {
		gg_v0_print(v, is_open ? ", " : "<");
		is_open = true;
		id = gg_v0_undisambiguated(v);
		gg_v0_print_identifier(v, &id);
		gg_v0_print(v, " = ");
		type(v);
	}
	if (is_hidden)
		v->quiet--;
	if (is_open)
		gg_v0_print(v, ">");
}

static void dyn_type(struct gg_v0 *v)
{
	uint64_t outer = v->bound_lifetimes, lifetime;
	bool first = true;

	gg_v0_print(v, "dyn ");
	binder(v);
	while (gg_v0_more(v)) {
		if (!first)
			gg_v0_print(v, " + ");
		first = false;
		dyn_trait(v);
	}
	v->bound_lifetimes = outer;
	if (!gg_v0_eat(v, 'L'))
		v->failed = true;
	lifetime = gg_v0_base_62(v);
	if (lifetime != 0) {
		gg_v0_print(v, " + ");
		gg_v0_print_lifetime(v, lifetime);
	}
}

static void reference_type(struct gg_v0 *v, bool is_mut)
{
	uint64_t lifetime = gg_v0_eat(v, 'L') ? gg_v0_base_62(v) : 0;

	gg_v0_print(v, "&");
	if (lifetime != 0) {
		gg_v0_print_lifetime(v, lifetime);
		gg_v0_print(v, " ");
	}
	gg_v0_print(v, is_mut ? "mut " : "");
	type(v);
}

static void tuple_type(struct gg_v0 *v)
{
	size_t count = 0;

	gg_v0_print(v, "(");
	for (; gg_v0_more(v); count++) {
		gg_v0_print(v, count > 0 ? ", " : "");
		type(v);
	}
	gg_v0_print(v, count == 1 ? ",)" : ")");
}

static void type(struct gg_v0 *v)
{
	const char *basic = basic_type(gg_v0_peek(v));
	size_t back;
	char tag;

	if (!gg_v0_enter(v))
		return;
	tag = gg_v0_next(v);
	switch (tag) {
	case 'R':
	case 'Q':
		reference_type(v, tag == 'Q');
		break;
	case 'P':
	case 'O':
		gg_v0_print(v, tag == 'P' ? "*const " : "*mut ");
		type(v);
		break;
	case 'A':
	case 'S':
		gg_v0_print(v, "[");
		type(v);
		if (tag == 'A') {
			gg_v0_print(v, "; ");
			gg_v0_constant(v, true);
		}
		gg_v0_print(v, "]");
		break;
	case 'T':
		tuple_type(v);
		break;
	case 'F':
		function_type(v);
		break;
	case 'D':
		dyn_type(v);
		break;
	case 'B':
		back = gg_v0_follow(v);
		if (v->quiet == 0)
			type(v);
		v->at = back;
		break;
	default:
		if (basic != NULL) {
			gg_v0_print(v, basic);
		} else {
			v->at--;
			gg_v0_path(v, false);
		}
	}
	gg_v0_leave(v);
}

bool gg_demangle_rust_v0(const char *linkage_name, enum gg_name_form form, struct gg_buf *out)
{
	const size_t before = out->length;
	struct gg_v0 v = { .out = out, .is_short = form == GG_NAME_SHORT };

	/* A digit behind _R would be the version of another scheme. */
	if (strncmp(linkage_name, "_R", 2) != 0 || !isupper((unsigned char)linkage_name[2]))
		return false;
	v.name = linkage_name + 2;
	/* Behind the paths stands what the compiler's tools appended: ".llvm.1", "$tlv". */
	v.length = strcspn(v.name, ".$");
	v.out_max = before + GG_DEMANGLE_TEXT_MAX;
	gg_v0_path(&v, true);
	if (!v.failed && v.at < v.length) {
		v.quiet++;
		gg_v0_path(&v, false); /* the crate that instantiated it */
		v.quiet--;
	}
	if (form == GG_NAME_FULL)
		gg_v0_print(&v, v.name + v.length);
	if (!v.failed && v.at == v.length && !out->failed && out->length > before)
		return true;
	if (out->data != NULL && !out->failed) {
		out->length = before;
		out->data[before] = '\0';
	}
	return false;
}
