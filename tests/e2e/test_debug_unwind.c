/* SPDX-License-Identifier: Apache-2.0 */
/* `geiger debug` as a person meets it.  GEIGER names the program; it looks at itself. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "cfi_tiny_elf.h"
#include "e2e/command.h"

TEST(a_file_is_summarised_by_kinds_of_rules)
{
	command_expect("debug unwind \"$GEIGER\"", 0, "... functions, ", "");
	command_expect("debug unwind \"$GEIGER\"", 0, "...kind       rules    share", "");
	command_expect("debug unwind \"$GEIGER\"", 0, "...general        0   0.000%", "");
}

TEST(a_symbol_is_shown_rule_by_rule)
{
	struct child child = command_run("debug unwind \"$GEIGER\" main _start");
	const char *main_rules = strstr(gg_buf_text(&child.out), "main is 0x");

	CHECK(child.exit_status == 0 && main_rules == gg_buf_text(&child.out));
#if defined(__x86_64__)
	/* The first instruction of a function has pushed nothing, wherever it was compiled. */
	CHECK_CONTAINS(gg_buf_text(&child.out), "CFA = rsp + 8; return address at CFA - 8\n");
#endif
	CHECK_CONTAINS(gg_buf_text(&child.out), "outermost  the stack ends here\n");
	child_done(&child);
}

TEST(a_pc_is_shown_with_its_function)
{
	command_expect(
		"debug unwind \"$GEIGER\" "
		"$(\"$GEIGER\" debug unwind \"$GEIGER\" main | sed -n 's/^main is \\(0x[^.]*\\).*/\\1/p')",
		0, "... is main + 0\n", "");
}

TEST(a_pc_without_rules_says_why)
{
	command_expect("debug unwind \"$GEIGER\" 0x1", 0,
	               "...none  no function described contains it\n", "");
}

TEST(rules_that_could_not_be_compiled_are_counted_by_reason)
{
	char path[] = "/tmp/geiger_debug_XXXXXX", line[64];
	int fd = mkstemp(path);
	struct tiny_elf tiny;

	tiny_elf_init(&tiny, EM_X86_64, BYTES(0x3f));
	CHECK_EQ_I64(write(fd, &tiny, sizeof(tiny)), (ssize_t)sizeof(tiny));
	close(fd);
	snprintf(line, sizeof(line), "debug unwind %s", path);
	command_expect(line, 0,
	               "...\nfunctions  whose rules could not be compiled, and why\n"
	               "        1  unknown opcode\n",
	               "");
	tiny_elf_init(&tiny, EM_AARCH64, BYTES(0x0c, 9, 16, 0x9e, 1));
	fd = open(path, O_WRONLY);
	CHECK_EQ_I64(write(fd, &tiny, sizeof(tiny)), (ssize_t)sizeof(tiny));
	close(fd);
	command_expect(line, 0, "...aarch64, 1 functions, 1 rules\n", "");
	snprintf(line, sizeof(line), "debug unwind %s 0x1004", path);
	command_expect(line, 0, "...general  CFA = x9 + 16; x30 at CFA - 8\n", "");
	unlink(path);
}

TEST(the_demonstration_walks_from_a_signal_handler_to_the_start)
{
	struct child child = command_run("debug unwind --demo");
	const char *text = gg_buf_text(&child.out);

	CHECK_MSG(child.exit_status == 0, "%d: %s", child.exit_status, gg_buf_text(&child.err));
	if (!CHECK_CONTAINS(text, "\n    0  capture_in_handler  "))
		puts(text);
#if defined(__x86_64__)
	CHECK_CONTAINS(text, "; signal frame\n");
#endif
	CHECK_CONTAINS(text, "compare_and_signal");
	CHECK_CONTAINS(text, "  main  ");
	CHECK_CONTAINS(text, "outermost  the stack ends here\n");
	CHECK_CONTAINS(text, "\ncomplete: ");
	child_done(&child);
}

TEST(what_cannot_be_shown_is_said)
{
	command_expect("debug unwind", 2, "",
	               "geiger: debug unwind: no file given. Name an ELF file, e.g. /bin/ls.\n");
	command_expect("debug unwind --demo /bin/ls", 2, "",
	               "geiger: debug unwind: --demo looks at no file.\n");
	command_expect("debug unwind /nonexistent", 1, "",
	               "geiger: /nonexistent: No such file or directory.\n");
	command_expect("debug unwind /dev/null", 1, "", "geiger: /dev/null: not an ELF file.\n");
	command_expect("debug unwind /etc/passwd", 1, "",
	               "geiger: /etc/passwd: not an ELF file for x86-64 or aarch64.\n");
	command_expect(
		"debug unwind \"$GEIGER\" no_such_function 2>&1 | sed 's/.*: it/it/'", 0,
		"...it has no function 'no_such_function'. Give a name of its symbol table, or a pc "
		"such as 0x1234.\n",
		"");
}
