/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The example's interpreter and collector: programs print what they always did, whatever the
 * collector and the sampler do.  NURSERY, NURSERY_PLAIN: the programs; NURSERY_PROGRAMS: the folder
 * of the Scheme ones.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/compiler.h"
#include "child.h"
#include "scratch.h"
#include "test.h"

struct program {
	const char *name, *size, *expected;
};

static const struct program programs[] = {
	{ "earley.scm", "4", "10 items at the end; parsed, in 5 ways for 4\n" },
	{ "gcbench.scm", "6",
	  "stretching the heap with a tree of depth 6\n"
	  "trees of depth 4: 8\n"
	  "nodes that lived all the time: 31\n"
	  "an element of the array: 0.03333333333333333\n" },
	{ "nqueens.scm", "6", "4 ways to place 6 queens, the first: (5 3 1 6 4 2)\n" },
	{ "parser.scm", "20",
	  "1942 characters, 20 records, the numbers in them add up to 879.\n"
	  "(object (id . 1) (name . \"record 1\") (weight . 7.1) (valid . false) "
	  "(tags array \"a\" \"b\" (array -1 null)))\n" },
	{ "sort.scm", "100",
	  "100 items, sorted: (42 65 91 196 256) to (((\"text 75\" \"text 80\") theta \"text 60\"))\n" },
};

/* Runs a program of the examples with the options, which end with NULL. */
static bool run(struct child *child, const char *nursery, const struct program *program,
                const char *const *options)
{
	const char *argv[16] = { getenv(nursery) };
	char path[4096], directory[4096];
	const char *const environment[] = { directory, NULL };
	int count = 1;

	/* With --record, the program would leave its region in the shared memory of the machine. */
	snprintf(directory, sizeof(directory), "GEIGER_DIR=%s", scratch_folder());
	snprintf(path, sizeof(path), "%s/%s", getenv("NURSERY_PROGRAMS"), program->name);
	while (*options != NULL)
		argv[count++] = *options++;
	argv[count++] = path;
	argv[count] = program->size;
	return child_run(child, argv, environment, 60);
}

static void all_print_what_they_should(const char *nursery, const char *const *options)
{
	struct child child;

	for (size_t i = 0; i < GG_COUNT(programs); i++) {
		if (CHECK(run(&child, nursery, &programs[i], options)))
			CHECK_MSG(child.exit_status == 0 && child.err.length == 0 &&
			                  child.out.length == strlen(programs[i].expected) &&
			                  memcmp(child.out.data, programs[i].expected,
			                         child.out.length) == 0,
			          "%s %s: status %d, printed:\n%.*s%.*s", programs[i].name,
			          options[0] == NULL ? "" : options[0], child.exit_status,
			          (int)child.out.length, child.out.data, (int)child.err.length,
			          child.err.data);
		child_done(&child);
	}
}

#define ALL_PRINT_WHAT_THEY_SHOULD(nursery, ...) \
	all_print_what_they_should(nursery, (const char *const[]){ __VA_ARGS__, NULL })

TEST(programs_print_what_they_should)
{
	ALL_PRINT_WHAT_THEY_SHOULD("NURSERY", NULL);
	ALL_PRINT_WHAT_THEY_SHOULD("NURSERY_PLAIN", NULL);
}

TEST(a_collection_at_each_allocation_changes_nothing)
{
	ALL_PRINT_WHAT_THEY_SHOULD("NURSERY", "--stress");
	ALL_PRINT_WHAT_THEY_SHOULD("NURSERY", "--stress", "--interval=1", "--record");
	ALL_PRINT_WHAT_THEY_SHOULD("NURSERY_PLAIN", "--stress");
}

TEST(objects_larger_than_the_nursery_change_nothing)
{
	ALL_PRINT_WHAT_THEY_SHOULD("NURSERY", "--nursery=4096");
	ALL_PRINT_WHAT_THEY_SHOULD("NURSERY", "--nursery=4096", "--interval=64");
	ALL_PRINT_WHAT_THEY_SHOULD("NURSERY", "--nursery=4096", "--stress", "--interval=1",
	                           "--record");
}

TEST(samples_change_nothing)
{
	ALL_PRINT_WHAT_THEY_SHOULD("NURSERY", "--off");
	ALL_PRINT_WHAT_THEY_SHOULD("NURSERY", "--interval=1");
	ALL_PRINT_WHAT_THEY_SHOULD("NURSERY", "--interval=64", "--scheme=stride");
	ALL_PRINT_WHAT_THEY_SHOULD("NURSERY", "--interval=64", "--scheme=poisson", "--record");
}

/* Runs a text as a program; with an option, or NULL. */
static bool run_text(struct child *child, const char *option, const char *text)
{
	char path[] = "/tmp/nursery-XXXXXX.scm";
	int file = mkstemps(path, 4);
	const char *argv[] = { getenv("NURSERY"), option == NULL ? path : option,
		               option == NULL ? NULL : path, NULL };
	bool ran = CHECK(file >= 0) &&
	           CHECK_EQ_I64(write(file, text, strlen(text)), (ssize_t)strlen(text)) &&
	           child_run(child, argv, NULL, 60);

	close(file);
	unlink(path);
	return ran;
}

static void fails_with(const char *text, const char *message)
{
	struct child child = { 0 };

	if (CHECK(run_text(&child, NULL, text)))
		CHECK_MSG(child.exit_status == 1 && memmem(child.err.data, child.err.length,
		                                           message, strlen(message)) != NULL,
		          "status %d, not \"%s\": %.*s", child.exit_status, message,
		          (int)child.err.length, child.err.data);
	child_done(&child);
}

TEST(an_error_tells_line_and_function)
{
	fails_with("(define (first list)\n  (+ 1 (car list)))\n(first 7)\n",
	           ".scm:2: in first: a pair was expected");
	fails_with("(display\n  nothing)\n",
	           ".scm:2: in (top level): there is no variable nothing");
	fails_with("(define (f x) x)\n(list (f 1 2))\n",
	           ".scm:2: in (top level): f takes 1 arguments, not 2");
	fails_with("(list\n\"text)\n", ".scm:2: this string has no end");
	fails_with("(car '(1)", ".scm:1: this list has no end");
	fails_with("(let ((x)) x)", ".scm:1: let: a binding is (name value)");
}

TEST(recursion_without_end_is_an_error)
{
	fails_with("(define (f x) (+ 1 (f x)))\n(f 1)\n", "recursion too deep");
}

TEST(tail_calls_have_no_depth)
{
	struct child child = { 0 };

	if (CHECK(run_text(&child, NULL,
	                   "(define (loop n) (if (= n 0) 'done (let ((m (- n 1))) (loop m))))\n"
	                   "(display (loop 1000000))\n")))
		CHECK(child.exit_status == 0 && child.out.length == 4);
	child_done(&child);
}

TEST(an_object_born_old_keeps_young_ones_alive)
{
	static const char *const options[] = { NULL, "--nursery=4096", "--stress" };
	struct child child = { 0 };

	for (size_t i = 0; i < GG_COUNT(options); i++) {
		if (CHECK(run_text(
			    &child, options[i],
			    "(define v (make-vector 1000 (list 1 2)))\n"
			    "(define (waste n) (if (= n 0) '() (begin (list n n) (waste (- n 1)))))\n"
			    "(waste 1000)\n"
			    "(define w (vector (list 3 4) v))\n"
			    "(vector-set! v 0 (list 5 6))\n"
			    "(waste 1000)\n"
			    "(display (list (vector-ref v 999) (vector-ref v 0) (car (vector-ref w 0))))")))
			CHECK_MSG(strcmp(gg_buf_text(&child.out), "((1 2) (5 6) 3)") == 0, "%s",
			          gg_buf_text(&child.out));
		child_done(&child);
	}
}
