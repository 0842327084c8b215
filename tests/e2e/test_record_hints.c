/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_record_hints - a profile that is empty or thin says why.
 *
 * Each test shows one reason, with a program made for it.  A process that the recorder has to
 * notice by itself lives for 2 s: the recorder searches every 50 ms, or less often if a search
 * takes more than half a millisecond of processor time.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recording.h"
#include "test.h"

static const char *helper(void)
{
	return getenv("RECORD_PROGRAM");
}

/* The program `name` in the test's directory, of that source; false: this compiler cannot. */
static bool make(struct recording *r, const char *name, const char *source, const char *options,
                 char path[128])
{
	struct child child;
	char script[512];
	bool ok;

	snprintf(path, 128, "%s/%s", r->directory, name);
	snprintf(script, sizeof(script), "printf '%%s\\n' \"$0\" | cc -xc - -o %s %s", path,
	         options);
	const char *argv[] = { "sh", "-c", script, source, NULL };

	ok = child_run(&child, argv, NULL, 60) && child.exit_status == 0;
	if (!ok)
		printf("%s", gg_buf_text(&child.err));
	child_done(&child);
	return ok;
}

/* Records it; do both the last line and a note say so? */
static bool is_said(struct recording *r, const char *const options[], int exit_status,
                    const char *text)
{
	char query[512];

	if (!CHECK(recording_run(r, options, 60)))
		return false;
	CHECK_MSG(r->child.exit_status == exit_status, "exit status %d: %s", r->child.exit_status,
	          gg_buf_text(&r->child.err));
	snprintf(query, sizeof(query),
	         "select count(*) from note where instr(text, '%s') > 0 and text like '%%.'", text);
	return CHECK_MSG(strstr(gg_buf_text(&r->child.err), text) != NULL, "no '%s' in: %s", text,
	                 gg_buf_text(&r->child.err)) &&
	       CHECK_MSG(recording_number(r, query) == 1, "notes: %s",
	                 recording_text(r, "select group_concat(text) from note"));
}

/* Has that figure of the JSON no upper end? */
static bool is_open(const char *json, const char *name)
{
	char key[64];
	const char *at, *end;

	snprintf(key, sizeof(key), "\"%s\":{", name);
	at = strstr(json, key);
	end = at != NULL ? strchr(at, '}') : NULL;
	return end != NULL && end - at > 11 && strncmp(end - 11, "\"high\":null", 11) == 0;
}

#define SAYS(r, status, text, ...) \
	is_said((r), (const char *const[]){ __VA_ARGS__, NULL }, (status), (text))

TEST(without_a_sample_the_bound_of_what_was_allocated_is_told)
{
	struct recording r;

	/* ln(2 / 0.05) GiB */
	if (CHECK(recording_begin(&r)))
		SAYS(&r, 0,
		     "the program allocated less than 3.69 GiB (95 % confidence, sampled every 1 "
		     "GiB); try a smaller sampling interval: -i 32768k",
		     "-i", "1G", "--", helper(), "allocate", "3");
	CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from process"), 1);
	CHECK_CONTAINS(gg_buf_text(&r.child.err), "nothing was sampled");
	recording_end(&r);
}

TEST(an_interval_that_follows_an_overhead_is_told_as_a_bound)
{
	struct recording r;

	if (CHECK(recording_begin(&r)))
		SAYS(&r, 0, " KiB at most); try a smaller sampling interval: -i ", "--overhead",
		     "1%", "--", helper(), "allocate", "0");
	recording_end(&r);
}

TEST(of_allocations_that_are_counted_the_bound_is_a_number)
{
	struct recording r;

	if (CHECK(recording_begin(&r)))
		SAYS(&r, 0, "the program made at most 3688879", "--scheme", "per-allocation", "-i",
		     "1000000", "--", helper(), "allocate", "3");
	CHECK(recording_geiger(&r, (const char *const[]){ "report", r.path, NULL }, 60));
	CHECK_MSG(strstr(gg_buf_text(&r.child.out), "every 1000000 allocations by per-allocation,"),
	          "%.400s", gg_buf_text(&r.child.out));
	recording_end(&r);
}

/* Once, whatever names the scheme; in JSON and text no byte count has an upper end then. */
TEST(a_session_that_counts_allocations_warns_about_bytes)
{
	static const char warning[] = "it may miss the bytes of rare large blocks";
	struct recording r;
	const char *first;

	if (!CHECK(recording_begin(&r)))
		return;
	setenv("GEIGER_SCHEME", "per-allocation", 1);
	CHECK(recording_run(
		&r, (const char *const[]){ "-i", "4", "--", helper(), "allocate", "3000", NULL },
		60));
	unsetenv("GEIGER_SCHEME");
	first = strstr(gg_buf_text(&r.child.err), warning);
	CHECK_MSG(first != NULL && strstr(first + 1, warning) == NULL, "%s",
	          gg_buf_text(&r.child.err));
	CHECK(recording_geiger(&r, (const char *const[]){ "report", "--json", r.path, NULL }, 60));
	CHECK_CONTAINS(gg_buf_text(&r.child.out), "\"unseen_bytes\":null");
	CHECK(is_open(gg_buf_text(&r.child.out), "allocated_bytes"));
	CHECK(is_open(gg_buf_text(&r.child.out), "live_bytes"));
	CHECK(is_open(gg_buf_text(&r.child.out), "peak_bytes"));
	CHECK(!is_open(gg_buf_text(&r.child.out), "allocated_count"));
	CHECK(!is_open(gg_buf_text(&r.child.out), "live_count"));
	CHECK(recording_geiger(&r, (const char *const[]){ "report", r.path, NULL }, 60));
	CHECK_MSG(strstr(gg_buf_text(&r.child.out), "at least ") != NULL, "%s",
	          gg_buf_text(&r.child.out));
	CHECK(strstr(gg_buf_text(&r.child.out), "holds less than") == NULL);
	CHECK_MSG(strstr(gg_buf_text(&r.child.out), "every 4 allocations") != NULL, "%s",
	          gg_buf_text(&r.child.out));
	CHECK(recording_run(&r,
	                    (const char *const[]){ "-i", "1", "--scheme", "per-allocation", "--",
	                                           helper(), "allocate", "30", NULL },
	                    60));
	CHECK(strstr(gg_buf_text(&r.child.err), warning) == NULL);
	recording_end(&r);
}

/* An interval of 1 is every allocation, whatever the scheme: the largest class has no other. */
TEST(at_an_interval_of_1_the_optimal_scheme_leaves_nothing_to_chance)
{
	struct recording r;

	if (!CHECK(recording_begin(&r)))
		return;
	CHECK(recording_run(&r,
	                    (const char *const[]){ "-i", "1", "--scheme", "optimal", "--", helper(),
	                                           "allocate", "3000", NULL },
	                    60));
	CHECK(recording_geiger(
		&r, (const char *const[]){ "report", "-m", "allocated", "--json", r.path, NULL },
		60));
	CHECK_MSG(strstr(gg_buf_text(&r.child.out),
	                 "\"allocated_count\":{\"estimate\":3000,\"low\":3000,\"high\":3000}") !=
	                  NULL,
	          "%.1500s", gg_buf_text(&r.child.out));
	recording_end(&r);
}

TEST(a_session_that_was_switched_off_says_so)
{
	struct recording r;

	setenv("GEIGER_ACTIVE", "0", 1);
	if (CHECK(recording_begin(&r)))
		SAYS(&r, 0, "sampling is switched off", "-i", "1k", "--", helper(), "allocate",
		     "1000");
	CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from event where kind = 'off'"), 1);
	unsetenv("GEIGER_ACTIVE");
	recording_end(&r);
}

TEST(a_profile_that_is_as_it_should_be_says_nothing)
{
	struct recording r;
	char path[128];

	if (!CHECK(recording_begin(&r)))
		return;
	CHECK(recording_run(
		&r, (const char *const[]){ "-i", "1k", "--", helper(), "allocate", "3000", NULL },
		60));
	CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from note"), 0);
	CHECK(strstr(gg_buf_text(&r.child.err), "; ") == NULL);
	/* The allocator takes four times the requested size for small blocks. */
	if (CHECK(make(&r, "small",
	               "#include <stdlib.h>\n#include <unistd.h>\nvoid *volatile p;\n"
	               "int main(void) { for (int i = 0; i < 2000000; i++) p = malloc(8);\n"
	               "usleep(2500000); return 0; }",
	               "", path))) {
		CHECK(recording_run(&r, (const char *const[]){ "-i", "16k", "--", path, NULL },
		                    60));
		CHECK(recording_number(&r, "select max(anonymous_bytes) from memory") > 60e6);
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from note"), 0);
	}
	recording_end(&r);
}

TEST(a_static_program_is_told)
{
	struct recording r;
	char path[128];

	if (!CHECK(recording_begin(&r)))
		return;
	if (make(&r, "static", "int main(void) { return 4; }", "-static", path))
		SAYS(&r, 4, "it is statically linked", "--", path);
	else
		SKIP("no static libc here");
	recording_end(&r);
}

#define GO_MARK "__attribute__((section(\".go.buildinfo\"), used)) static int mark = 1;\n"

TEST(a_go_program_is_told)
{
	struct recording r;
	char path[128];

	if (!CHECK(recording_begin(&r)))
		return;
	if (make(&r, "go", GO_MARK "int main(void) { return 0; }", "-static", path))
		SAYS(&r, 0, "it is a Go program, statically linked", "--", path);
	/* With cgo. */
	if (CHECK(make(&r, "cgo", GO_MARK "int main(void) { return 0; }", "", path)))
		SAYS(&r, 0, "it is a Go program: Go has an allocator of its own", "--", path);
	recording_end(&r);
}

#define IMAGE_MARK "__attribute__((section(\".svm_heap\"), used)) static int mark = 1;\n"

TEST(a_native_image_of_a_java_program_is_told)
{
	struct recording r;
	char path[128];

	if (!CHECK(recording_begin(&r)))
		return;
	if (CHECK(make(&r, "image", IMAGE_MARK "int main(void) { return 0; }", "", path)))
		SAYS(&r, 0, "it is a GraalVM native image", "--", path);
	recording_end(&r);
}

/* Blocks from a static array. */
#define OWN_ALLOCATOR(exported, prefix)                                                    \
	"#include <stddef.h>\n" exported "static char all[1 << 20]; static size_t used;\n" \
	"void *" prefix "malloc(size_t n) { void *p = all + used;\n"                       \
	"  used += (n + 31) & -16; return p; }\n"                                          \
	"void " prefix "free(void *p) { (void)p; }\n"

TEST(an_allocator_in_the_program_is_told)
{
	struct recording r;
	char path[128];

	if (!CHECK(recording_begin(&r)))
		return;
	/* As other libraries see it, and as jemalloc is linked in with a prefix. */
	if (CHECK(make(
		    &r, "own",
		    OWN_ALLOCATOR(
			    "",
			    "") "void *calloc(size_t n, size_t s)"
				" { return malloc(n * s); }\n"
				"void *realloc(void *p, size_t n) { (void)p; return malloc(n); }\n"
				"int main(void) { return malloc(100) == NULL; }",
		    "-fno-builtin -rdynamic -s", path)))
		SAYS(&r, 0, "it has an allocator of its own (malloc is in the program)", "-i", "1k",
		     "--", path);
	if (CHECK(make(&r, "prefixed",
	               OWN_ALLOCATOR("", "je_") "int main(void) { return je_malloc(9) == NULL; }",
	               "", path)))
		SAYS(&r, 0, "it has an allocator of its own (je_malloc is in the program)", "-i",
		     "1k", "--", path);
	recording_end(&r);
}

TEST(an_allocator_in_what_a_script_starts_is_told_once)
{
	struct recording r;
	char path[128], script[512];

	if (!CHECK(recording_begin(&r)))
		return;
	if (CHECK(make(&r, "prefixed",
	               OWN_ALLOCATOR("", "mi_") "int main(void) { return mi_malloc(9) == NULL; }",
	               "", path))) {
		snprintf(script, sizeof(script), "%s; %s; exit 7", path, path);
		SAYS(&r, 7, "(prefixed) can be seen: it has an allocator of its own (mi_malloc is",
		     "-i", "1k", "--", "sh", "-c", script);
	}
	recording_end(&r);
}

TEST(a_program_with_more_privileges_is_told)
{
	struct recording r;
	char path[128];

	if (geteuid() != 0)
		SKIP("only root can make a program of another user");
	if (!CHECK(recording_begin(&r)))
		return;
	CHECK_EQ_I64(chmod(r.directory, 0755), 0);
	if (CHECK(make(&r, "setuid", "int main(void) { return 6; }", "", path)) &&
	    CHECK(chown(path, 65534, 65534) == 0 && chmod(path, 04755) == 0)) {
		/* The program's output is its own: the loader says nothing of the agent. */
		SAYS(&r, 6, "it runs with more privileges than its caller", "--", path);
		CHECK_EQ_U64(r.child.out.length, 0);
		CHECK(strstr(gg_buf_text(&r.child.err), "preload") == NULL);
	}
	recording_end(&r);
}

TEST(a_program_in_another_root_directory_is_told)
{
	struct recording r;
	char path[128], script[1024], root[192];

	if (geteuid() != 0)
		SKIP("only root can change the root directory");
	if (!CHECK(recording_begin(&r)))
		return;
	snprintf(root, sizeof(root), "%s/root", r.directory);
	if (CHECK(make(&r, "program",
	               "#include <unistd.h>\nint main(void) { usleep(2000000); return 6; }", "",
	               path))) {
		snprintf(script, sizeof(script),
		         "mkdir %s; cd %s; cp -L --parents $(ldd %s | grep -o '/[^ ]*') .; cp %s .",
		         root, root, path, path);
		CHECK_EQ_I64(system(script), 0);
		SAYS(&r, 6, "it has another root directory (chroot, a container)", "--", "chroot",
		     root, "/program");
	}
	recording_end(&r);
}

TEST(a_program_of_musl_is_told)
{
#if defined(__x86_64__)
	struct recording r;
	char loader[128], path[128], option[256], script[128], text[2048];

	if (!CHECK(recording_begin(&r)))
		return;
	/*
	 * In the place of its loader a program that ends; musl's would fail with the agent in
	 * LD_PRELOAD.  Beside the copy of the agent
	 * there is no agent for musl.
	 */
	snprintf(text, sizeof(text), "cp %.*s/libgeiger-agent.so %s",
	         (int)(strrchr(getenv("GEIGER"), '/') - getenv("GEIGER")), getenv("GEIGER"),
	         r.directory);
	CHECK_EQ_I64(system(text), 0);
	snprintf(text, sizeof(text), "%s/libgeiger-agent.so", r.directory);
	setenv("GEIGER_AGENT", text, 1);
	if (CHECK(make(
		    &r, "ld-musl-x86_64.so.1",
		    "__asm__(\".globl _start\\n_start: mov %rsp, %rdi; call look; mov %eax, %edi;\"\n"
		    "\"mov $60, %eax; syscall\");\n"
		    "int look(long *stack) { char **name = (char **)(stack + *stack + 2);\n"
		    "for (; *name; name++) if (name[0][0] == 'L' && name[0][3] == 'P') return 8;\n"
		    "return 7; }",
		    "-static -nostdlib -ffreestanding -fno-stack-protector", loader))) {
		snprintf(option, sizeof(option), "-Wl,--dynamic-linker=%s", loader);
		if (CHECK(make(&r, "musl", "int main(void) { return 0; }", option, path)))
			SAYS(&r, 7, "it is linked with musl", "--", path);
		snprintf(script, sizeof(script), "%s/script", r.directory);
		snprintf(text, sizeof(text), "printf '#!%s\\n' >%s; chmod 755 %s", path, script,
		         script);
		CHECK_EQ_I64(system(text), 0);
		SAYS(&r, 7, "it is linked with musl", "--", script);
		snprintf(text, sizeof(text), "printf '#!/usr/bin/env musl\\n' >%s", script);
		CHECK_EQ_I64(system(text), 0);
		snprintf(text, sizeof(text), "%s:%s", r.directory, getenv("PATH"));
		setenv("PATH", text, 1);
		SAYS(&r, 7, "it is linked with musl", "--", script);
	}
	unsetenv("GEIGER_AGENT");
	recording_end(&r);
#else
	SKIP("the loader that stands for musl's is of x86-64");
#endif
}

TEST(a_program_that_was_killed_while_it_started_is_told)
{
#if defined(__x86_64__)
	struct recording r;
	char loader[128], path[128], option[256];

	if (!CHECK(recording_begin(&r)))
		return;
	/* A loader that takes half a second, and is killed. */
	if (CHECK(make(
		    &r, "ld-slow.so",
		    "__asm__(\".globl _start\\n_start: push $500000000; push $0; mov %rsp, %rdi;\"\n"
		    "\"xor %esi, %esi; mov $35, %eax; syscall; mov $39, %eax; syscall;\"\n"
		    "\"mov %eax, %edi; mov $9, %esi; mov $62, %eax; syscall\");",
		    "-static -nostdlib -ffreestanding", loader))) {
		snprintf(option, sizeof(option), "-Wl,--dynamic-linker=%s", loader);
		if (CHECK(make(&r, "slow", "int main(void) { return 0; }", option, path))) {
			SAYS(&r, 137, "it ended while it started (killed by signal 9)", "-i", "1k",
			     "--", "env", path);
			SAYS(&r, 137, "the program ended while it started (killed by signal 9)",
			     "--", path);
		}
	}
	recording_end(&r);
#else
	SKIP("the loader that is killed is of x86-64");
#endif
}

TEST(a_program_of_a_sanitizer_is_told)
{
	struct recording r;
	char path[128];

	if (!CHECK(recording_begin(&r)))
		return;
	if (make(&r, "static", "int main(void) { return 6; }", "-fsanitize=address -static-libasan",
	         path))
		SAYS(&r, 6, "it is built with AddressSanitizer", "-i", "1k", "--", path);
	recording_end(&r);
}

TEST(a_program_that_lost_its_environment_is_told)
{
	struct recording r;
	char path[128], text[256];

	if (!CHECK(recording_begin(&r)))
		return;
	snprintf(text, sizeof(text), "executed %s, which is not in the profile: its environment",
	         helper());
	SAYS(&r, 9, text, "-i", "1k", "--", "env", "-i", helper(), "slow", "2000");
	if (make(&r, "static", "#include <unistd.h>\nint main(void) { usleep(2000000); return 4; }",
	         "-static", path)) {
		snprintf(text, sizeof(text),
		         "executed %s, which is not in the profile: it is statically linked", path);
		SAYS(&r, 4, text, "-i", "1k", "--", "env", path);
		CHECK_EQ_DOUBLE(
			recording_number(&r, "select count(*) from event where kind = 'exec' and "
		                             "detail like '%without the agent'"),
			1);
	}
	/* One that has the agent again, if late, is in the profile, and nothing is missing. */
	if (make(&r, "late",
	         "#include <unistd.h>\nint main(int n, char **a) { usleep(300000);\n"
	         "return n < 2 || execv(a[1], a + 1); }",
	         "-static", path)) {
		CHECK(recording_run(&r,
		                    (const char *const[]){ "-i", "1k", "--", "env", path, helper(),
		                                           "slow", "300", NULL },
		                    60));
		CHECK_EQ_I64(r.child.exit_status, 9);
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from process"), 2);
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from note"), 0);
	}
	recording_end(&r);
}

TEST(children_that_run_without_the_agent_are_told_once_a_program)
{
	struct recording r;
	char path[128], text[256], script[512];

	if (!CHECK(recording_begin(&r)))
		return;
	/* Its parents have regions, and it never had one. */
	snprintf(text, sizeof(text),
	         "executed %s, which is not in the profile: its environment is without LD_PRELOAD",
	         helper());
	snprintf(script, sizeof(script), "LD_PRELOAD= %s slow 2000; LD_PRELOAD= %s slow 400; true",
	         helper(), helper());
	SAYS(&r, 0, text, "-i", "1k", "--", "sh", "-c", script);
	CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from note"), 1);
	if (make(&r, "static", "#include <unistd.h>\nint main(void) { usleep(2000000); return 4; }",
	         "-static", path)) {
		snprintf(text, sizeof(text),
		         "executed %s, which is not in the profile: it is statically linked", path);
		snprintf(script, sizeof(script), "%s; exit 5", path);
		SAYS(&r, 5, text, "--", "sh", "-c", script);
		CHECK_CONTAINS(gg_buf_text(&r.child.err), "nothing was sampled: process ");
	}
	recording_end(&r);
}

TEST(regions_that_nobody_recorded_say_why_they_are_empty)
{
	struct recording r;
	char path[128], script[1024];
	struct child child;

	if (!CHECK(recording_begin(&r)))
		return;
	snprintf(script, sizeof(script),
	         "mkdir %s/alone; env $($GEIGER env -i 1G --dir %s/alone | head -1) %s allocate 3",
	         r.directory, r.directory, helper());
	CHECK(child_run(&child, (const char *const[]){ "sh", "-c", script, NULL }, NULL, 60));
	child_done(&child);
	snprintf(path, sizeof(path), "%s/alone", r.directory);
	CHECK(recording_geiger(&r, (const char *const[]){ "salvage", "-o", r.path, path, NULL },
	                       60));
	CHECK_CONTAINS(gg_buf_text(&r.child.err),
	               "nothing was sampled in 1 region: the program allocated less than 3.69 GiB");
	CHECK(recording_geiger(&r, (const char *const[]){ "report", r.path, NULL }, 60));
	CHECK_CONTAINS(gg_buf_text(&r.child.out), "note: Nothing was sampled: the program");
	/* Both sides of a comparison, once. */
	CHECK(recording_geiger(&r, (const char *const[]){ "diff", r.path, r.path, NULL }, 60));
	CHECK_CONTAINS(gg_buf_text(&r.child.out), "note on both: Nothing was sampled: the");
	recording_end(&r);
}

TEST(a_child_that_wrote_over_its_environment_has_the_agent_all_the_same)
{
	struct recording r;
	char path[128];

	if (!CHECK(recording_begin(&r)))
		return;
	if (CHECK(make(
		    &r, "title",
		    "#include <string.h>\n#include <sys/wait.h>\n#include <unistd.h>\n"
		    "extern char **environ;\n"
		    "int main(void) { char *from = environ[0], *to = from; int i;\n"
		    "for (i = 0; environ[i]; i++) to = environ[i] + strlen(environ[i]);\n"
		    "if (fork() == 0) { memset(from, 'x', to - from); usleep(400000); _exit(0); }\n"
		    "wait(0); return 0; }",
		    "", path))) {
		CHECK(recording_run(&r, (const char *const[]){ "-i", "1k", "--", path, NULL }, 60));
		CHECK(strstr(gg_buf_text(&r.child.err), "not in the profile") == NULL);
	}
	recording_end(&r);
}

TEST(memory_that_never_went_through_malloc_is_told)
{
	struct recording r;
	char path[128];

	if (!CHECK(recording_begin(&r)))
		return;
	if (CHECK(make(&r, "maps",
	               "#include <string.h>\n#include <sys/mman.h>\n#include <unistd.h>\n"
	               "int main(void) { memset(mmap(0, 64 << 20, PROT_READ | PROT_WRITE,\n"
	               "MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, 64 << 20);\n"
	               "usleep(2500000); return 0; }",
	               "", path))) {
		SAYS(&r, 0, "the program maps memory itself, and --mmap records such mappings",
		     "-i", "64k", "--", path);
		/* With that there is nothing to say. */
		CHECK(recording_run(
			&r, (const char *const[]){ "-i", "64k", "--mmap", "--", path, NULL }, 60));
		CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from note"), 0);
	}
	recording_end(&r);
}

TEST(no_advice_names_an_option_that_is_given)
{
	struct recording r;
	char path[128];

	if (!CHECK(recording_begin(&r)))
		return;
	if (CHECK(make(&r, "data",
	               "#include <string.h>\n#include <unistd.h>\n"
	               "static char data[64 << 20];\n"
	               "int main(void) { memset(data, 1, sizeof(data)); usleep(2500000); }",
	               "", path))) {
		SAYS(&r, 0, "the rest is neither blocks nor recorded mappings", "-i", "64k",
		     "--mmap", "--", path);
		CHECK(strstr(gg_buf_text(&r.child.err), "--mmap") == NULL);
	}
	recording_end(&r);
}

/* The exact mode does not count inherited blocks as the child's, but malloc gave them. */
TEST(blocks_from_before_a_fork_are_not_missing_in_exact_profiles)
{
	struct recording r;
	char path[128];

	if (!CHECK(recording_begin(&r)))
		return;
	if (CHECK(make(&r, "forks",
	               "#include <stdlib.h>\n#include <string.h>\n#include <sys/wait.h>\n"
	               "#include <unistd.h>\nstatic void *volatile kept;\n"
	               "int main(void) { kept = malloc(64 << 20); memset(kept, 1, 64 << 20);\n"
	               "if (fork() == 0) { free(malloc(100)); usleep(2500000); _exit(0); }\n"
	               "wait(0); return 0; }",
	               "", path))) {
		CHECK(recording_run(&r, (const char *const[]){ "--exact", "--", path, NULL }, 60));
		CHECK(strstr(gg_buf_text(&r.child.err), "of 2 processes") != NULL);
		CHECK(strstr(gg_buf_text(&r.child.err), " of memory, ") == NULL);
	}
	recording_end(&r);
}

/* 1024 ways through ten calls fill the table of stacks; then one stack without a place repeats. */
TEST(each_sample_of_a_stack_without_a_place_is_counted)
{
	struct recording r;
	char path[128];

	if (!CHECK(recording_begin(&r)))
		return;
	setenv("GEIGER_MAX_STACKS", "1024", 1);
	if (CHECK(make(
		    &r, "stacks",
		    "#include <stdlib.h>\n"
		    "static void *volatile s;\n"
		    "static void a(int, int), b(int, int);\n"
		    "static void go(int k, int n) { if (n == 0) { s = malloc(10); free(s); }\n"
		    "else if (k & 1) a(k >> 1, n - 1); else b(k >> 1, n - 1); s = 0; }\n"
		    "static void a(int k, int n) { go(k, n); s = 0; }\n"
		    "static void b(int k, int n) { go(k, n); s = 0; }\n"
		    "static void deep(int n) { if (n > 0) deep(n - 1);\n"
		    "else for (int i = 0; i < 1000; i++) { s = malloc(100); free(s); } s = 0; }\n"
		    "int main(void) { for (int i = 0; i < 1024; i++) go(i, 10);\n"
		    "deep(50); return 0; }",
		    "-O0", path))) {
		CHECK(recording_run(&r, (const char *const[]){ "-i", "1", "--", path, NULL }, 60));
		CHECK(recording_number(&r, "select sum(allocated_count) from total"
		                           " where stack = 0") >= 1000);
		CHECK_EQ_DOUBLE(recording_number(&r, "select sum(allocated_count) from total"
		                                     " where stack = 0"),
		                recording_number(&r, "select value from counter"
		                                     " where name = 'stacks without a place'"));
	}
	unsetenv("GEIGER_MAX_STACKS");
	recording_end(&r);
}

TEST(python_is_told_how_to_show_its_small_objects)
{
	static const char script[] = "import time; a = [str(i) + 'x' * 20 for i in range(600000)];"
				     " time.sleep(2.5)";
	struct recording r;

	if (access("/usr/bin/python3", X_OK) < 0)
		SKIP("no python3 here");
	if (!CHECK(recording_begin(&r)))
		return;
	unsetenv("PYTHONMALLOC");
	setenv("GEIGER_PYTHON", "0", 1); /* as with a release that the adapter does not know */
	SAYS(&r, 0, "set PYTHONMALLOC=malloc to see them", "-i", "64k", "--", "/usr/bin/python3",
	     "-c", script);
	setenv("PYTHONMALLOC", "malloc", 1);
	CHECK(recording_run(
		&r,
		(const char *const[]){ "-i", "64k", "--", "/usr/bin/python3", "-c", script, NULL },
		60));
	CHECK_EQ_DOUBLE(recording_number(&r, "select count(*) from note"), 0);
	unsetenv("PYTHONMALLOC");
	unsetenv("GEIGER_PYTHON");
	recording_end(&r);
}
