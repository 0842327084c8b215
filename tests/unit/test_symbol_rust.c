/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random Rust v0 names, made by the grammar, against binutils' c++filt.
 *
 * c++filt shows what we leave out: the hash of a crate, "core[1a2b]", and the type of a constant,
 * "5: usize"; that is taken out of its lines before they are compared.
 */
#include <ctype.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/hash.h"
#include "child.h"
#include "symbol/names/demangle.h"
#include "test.h"

enum { NAMES = 20000, DEPTH_MAX = 6, REFERENCES_MAX = 32 };

struct name {
	struct gg_buf text; /* behind _R */
	uint64_t random;
	unsigned lifetimes;                                  /* bound here */
	size_t types[REFERENCES_MAX], paths[REFERENCES_MAX]; /* where complete ones stand */
	size_t type_count, path_count;
};

static unsigned draw(struct name *n, unsigned below)
{
	n->random = gg_hash_integer(n->random + 1, 99);
	return (unsigned)(n->random % below);
}

static void put(struct name *n, const char *text)
{
	gg_buf_append_text(&n->text, text);
}

static void put_62(struct name *n, uint64_t value)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz"
				     "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char text[16];
	size_t at = sizeof(text);

	text[--at] = '\0';
	text[--at] = '_';
	for (; value > 0; value = (value - 1) / 62) {
		text[--at] = digits[(value - 1) % 62];
		if (value <= 62)
			break;
	}
	put(n, text + at);
}

static void make_type(struct name *n, unsigned depth);
static void make_path(struct name *n, unsigned depth);

static void make_identifier(struct name *n, bool disambiguated)
{
	static const char *const names[] = { "Xy", "_Under", "Long_Name_Of_A_Thing", "Q9", "9N" };
	const char *name = names[draw(n, GG_COUNT(names))];

	if (disambiguated && draw(n, 4) == 0) {
		put(n, "s");
		put_62(n, draw(n, 5000));
	}
	gg_buf_printf(&n->text, "%zu%s%s", strlen(name),
	              isdigit((unsigned char)name[0]) || name[0] == '_' ? "_" : "", name);
}

static void make_constant(struct name *n)
{
	switch (draw(n, 5)) {
	case 0:
		gg_buf_printf(&n->text, "j%x_", draw(n, 1U << 31));
		break;
	case 1:
		gg_buf_printf(&n->text, "ln%x_", 1 + draw(n, 1000));
		break;
	case 2:
		gg_buf_printf(&n->text, "b%u_", draw(n, 2));
		break;
	case 3:
		gg_buf_printf(&n->text, "c%x_", 'a' + draw(n, 26));
		break;
	default:
		put(n, "p");
	}
}

static void make_arguments(struct name *n, unsigned depth)
{
	unsigned count = 1 + draw(n, 3);

	for (unsigned i = 0; i < count; i++) {
		if (draw(n, 6) == 0) {
			put(n, "K");
			make_constant(n);
		} else {
			make_type(n, depth + 1);
		}
	}
	put(n, "E");
}

static void remember(size_t *places, size_t *count, size_t place)
{
	if (*count < REFERENCES_MAX)
		places[(*count)++] = place;
}

static void make_path(struct name *n, unsigned depth)
{
	static const char *const spaces[] = { "Nv", "Nt", "NC", "NS" };
	size_t from = n->text.length;
	unsigned kind = depth >= DEPTH_MAX ? 0 : draw(n, 7);

	if (n->path_count > 0 && draw(n, 6) == 0) {
		put(n, "B");
		put_62(n, n->paths[draw(n, (unsigned)n->path_count)]);
		return;
	}
	switch (kind) {
	case 0:
		put(n, "C");
		make_identifier(n, true);
		break;
	case 1:
	case 2:
	case 3:
		put(n, spaces[draw(n, GG_COUNT(spaces))]);
		make_path(n, depth + 1);
		make_identifier(n, true);
		break;
	case 4:
		put(n, "I");
		make_path(n, depth + 1);
		make_arguments(n, depth);
		break;
	case 5:
		put(n, "M");
		make_path(n, depth + 1);
		make_type(n, depth + 1);
		break;
	default:
		put(n, draw(n, 2) == 0 ? "Y" : "X");
		if (n->text.data[n->text.length - 1] == 'X')
			make_path(n, depth + 1);
		make_type(n, depth + 1);
		make_path(n, depth + 1);
	}
	remember(n->paths, &n->path_count, from);
}

static void make_function_type(struct name *n, unsigned depth)
{
	unsigned outer = n->lifetimes;

	put(n, "F");
	if (draw(n, 3) == 0) {
		unsigned count = draw(n, 3);

		put(n, "G");
		put_62(n, count);
		n->lifetimes += count + 1;
	}
	put(n, draw(n, 4) == 0 ? "U" : "");
	put(n, draw(n, 4) == 0 ? "KC" : "");
	for (unsigned count = draw(n, 3); count > 0; count--)
		make_type(n, depth + 1);
	put(n, "E");
	if (draw(n, 2) == 0)
		put(n, "u");
	else
		make_type(n, depth + 1);
	n->lifetimes = outer;
}

static void make_dyn(struct name *n, unsigned depth)
{
	put(n, "D");
	for (unsigned count = 1 + draw(n, 2); count > 0; count--) {
		make_path(n, depth + 1);
		if (draw(n, 3) == 0) {
			put(n, "p");
			make_identifier(n, false);
			make_type(n, depth + 1);
		}
	}
	put(n, "EL_");
}

static void make_type(struct name *n, unsigned depth)
{
	static const char basic[] = "abcdefhijlmnopstuvxyz";
	static const char *const pointers[] = { "R", "Q", "P", "O", "S" };
	size_t from = n->text.length;

	/* A reference to a place with other lifetimes around it could name some that are not. */
	if (n->type_count > 0 && n->lifetimes == 0 && draw(n, 6) == 0) {
		put(n, "B");
		put_62(n, n->types[draw(n, (unsigned)n->type_count)]);
		return;
	}
	switch (depth >= DEPTH_MAX ? 0 : draw(n, 8)) {
	case 0:
	case 1:
		gg_buf_append(&n->text, basic + draw(n, sizeof(basic) - 1), 1);
		return;
	case 2:
		put(n, pointers[draw(n, GG_COUNT(pointers))]);
		if (n->lifetimes > 0 && strchr("RQ", n->text.data[n->text.length - 1]) != NULL &&
		    draw(n, 2) == 0) {
			put(n, "L");
			put_62(n, 1 + draw(n, n->lifetimes));
		}
		make_type(n, depth + 1);
		break;
	case 3:
		put(n, "A");
		make_type(n, depth + 1);
		gg_buf_printf(&n->text, "j%x_", draw(n, 100));
		break;
	case 4:
		put(n, "T");
		for (unsigned count = draw(n, 4); count > 0; count--)
			make_type(n, depth + 1);
		put(n, "E");
		break;
	case 5:
		make_function_type(n, depth);
		break;
	case 6:
		make_dyn(n, depth);
		break;
	default:
		make_path(n, depth + 1);
	}
	if (n->lifetimes == 0)
		remember(n->types, &n->type_count, from);
}

/* Takes out of a line of c++filt what we do not show. */
static void clean(char *line)
{
	char *to = line;

	for (char *from = line; *from != '\0'; from++) {
		if (*from == '[' && from > line &&
		    (isalnum((unsigned char)from[-1]) || from[-1] == '_')) {
			from = strchr(from, ']');
		} else if (from[0] == ':' && from[1] == ' ') {
			while (isalnum((unsigned char)from[2]))
				from++;
			from++;
		} else {
			*to++ = *from;
		}
	}
	*to = '\0';
}

TEST(random_v0_names_are_demangled_as_by_binutils)
{
	char path[] = "/tmp/geiger-rust-XXXXXX", script[128];
	const char *argv[] = { "sh", "-c", script, NULL };
	int fd = mkstemp(path), different_count = 0, demangled_count = 0;
	FILE *list = fd >= 0 ? fdopen(fd, "w") : NULL;
	struct child child;
	char *at, **names = calloc(NAMES, sizeof(*names));

	if (list == NULL)
		SKIP("no temporary file");
	for (uint64_t i = 0; i < NAMES; i++) {
		struct name name = { .random = i * 1000 };

		put(&name, i % 2 == 0 ? "Nv" : "INv");
		make_path(&name, 0);
		make_identifier(&name, true);
		if (i % 2 != 0)
			make_arguments(&name, 0);
		fprintf(list, "_R%s\n", gg_buf_text(&name.text));
		names[i] = name.text.data;
	}
	fclose(list);
	snprintf(script, sizeof(script), "c++filt -s rust <%s", path);
	CHECK(child_run(&child, argv, NULL, 120));
	unlink(path);
	if (child.exit_status != 0) {
		child_done(&child);
		SKIP("no c++filt");
	}
	at = child.out.data;
	for (uint64_t i = 0; i < NAMES && at != NULL; i++) {
		struct gg_buf full = { 0 }, mangled = { 0 };
		char *end = strchr(at, '\n');

		*end = '\0';
		clean(at);
		gg_buf_printf(&mangled, "_R%s", names[i]);
		/* Theirs gives up on some sooner. */
		if (strncmp(at, "_R", 2) != 0) {
			demangled_count++;
			if ((!gg_demangle_rust_v0(mangled.data, GG_NAME_FULL, &full) ||
			     strcmp(full.data, at) != 0) &&
			    different_count++ < 5)
				printf("%s\n  ours   %s\n  theirs %s\n", mangled.data,
				       gg_buf_text(&full), at);
		}
		gg_buf_done(&full);
		gg_buf_done(&mangled);
		free(names[i]);
		at = end + 1;
	}
	CHECK_MSG(different_count == 0, "%d of %d differ", different_count, demangled_count);
	CHECK_MSG(demangled_count > NAMES * 3 / 4, "only %d names were good", demangled_count);
	free(names);
	child_done(&child);
}
