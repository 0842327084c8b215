/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preloadable - tells from a program's file whether the agent can see what the program allocates.
 *
 *   1. A program with more privileges than its caller loads no agent.
 *   2. An ELF program loads the agent if it has the agent's architecture and glibc's loader.
 *   3. If it does, its symbol tables tell whether it brings its own allocator or a sanitizer.
 *   4. For a script the interpreter decides.
 *
 * Hostile  the file may hold anything.  Each offset and size in it is checked against the limits
 *          below, and a read beyond the end of the file fails.
 */
#include "record/diagnose/preloadable.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Limits in bytes, sections, bytes, and bytes. */
enum { READ_MAX = 256 << 20, SECTIONS_MAX = 4096, INTERPRETER_MAX = 256, PROGRAM_NOTES_MAX = 4096 };

/* Advice on each kind of program. */
static const char advice_static[] =
	"link it dynamically, or with libgeiger-agent.a: man geiger-agent";
static const char advice_go[] = "use Go's own runtime/pprof, then: geiger import";
static const char advice_native_image[] = "run it on a Java VM: geiger record java -jar";
static const char advice_musl[] = "build it with glibc, or geiger with musl-gcc";
static const char advice_allocator[] = "build it without that allocator";
static const char advice_sanitizer[] = "build it without the sanitizer";
static const char advice_privileges[] = "record it as the user that owns it";

struct program {
	int fd;
	Elf64_Ehdr elf;
	Elf64_Shdr *sections; /* section_count of them; NULL: they cannot be read */
	uint32_t section_count;
	uint64_t left_bytes;               /* how much more may be read; READ_MAX at first */
	char interpreter[INTERPRETER_MAX]; /* the program's loader; "": it has no loader */
	bool only_loading;                 /* the caller does not ask about allocators */
	bool is_sanitized;                 /* a symbol table names a sanitizer */
	bool refuses;                      /* its loader fails with the agent, or complains */
	bool is_musl;                      /* its loader is musl's */
	char *why;
	const char *advice; /* how to profile it nevertheless; NULL: geiger knows no way */
};

static bool read_at(int fd, void *to, size_t bytes, uint64_t offset)
{
	return pread(fd, to, bytes, (off_t)offset) == (ssize_t)bytes;
}

/*
 * Returns a section's content with a 0 byte after it, which the caller frees.  NULL: the section
 * has no content, or the limit of READ_MAX bytes is reached.
 */
static char *read_section(struct program *program, const Elf64_Shdr *section)
{
	char *content;

	if (section->sh_type == SHT_NOBITS || section->sh_size > program->left_bytes)
		return NULL;
	program->left_bytes -= section->sh_size;
	content = malloc(section->sh_size + 1);
	if (content == NULL)
		return NULL;
	content[section->sh_size] = '\0';
	if (read_at(program->fd, content, section->sh_size, section->sh_offset))
		return content;
	free(content);
	return NULL;
}

/* Reads the path of the program's loader, if it has one.  False: reading failed. */
static bool read_interpreter(struct program *program)
{
	for (int i = 0; i < program->elf.e_phnum; i++) {
		Elf64_Phdr header;

		if (!read_at(program->fd, &header, sizeof(header),
		             program->elf.e_phoff + (uint64_t)i * sizeof(header)))
			return false;
		if (header.p_type != PT_INTERP)
			continue;
		if (header.p_filesz == 0 || header.p_filesz >= INTERPRETER_MAX ||
		    !read_at(program->fd, program->interpreter, header.p_filesz, header.p_offset))
			return false;
		program->interpreter[header.p_filesz] = '\0';
	}
	return true;
}

/*
 * True if the agent is linked into the program: its note is there (preload/static/static_agent.c).
 * The fields of a note have 4 bytes, and its texts are padded to that.
 */
static bool is_agents_note(const Elf64_Nhdr *note, const char *texts)
{
	static const char owner[] = "geiger";

	return note->n_namesz == sizeof(owner) && memcmp(texts, owner, sizeof(owner)) == 0;
}

static bool has_agent(struct program *program)
{
	char notes[PROGRAM_NOTES_MAX];
	Elf64_Nhdr note;

	for (int i = 0; i < program->elf.e_phnum; i++) {
		Elf64_Phdr header;
		size_t at = 0, next;

		if (!read_at(program->fd, &header, sizeof(header),
		             program->elf.e_phoff + (uint64_t)i * sizeof(header)))
			return false;
		if (header.p_type != PT_NOTE || header.p_filesz > sizeof(notes) ||
		    !read_at(program->fd, notes, header.p_filesz, header.p_offset))
			continue;
		while (header.p_filesz - at >= sizeof(note) + 8) {
			memcpy(&note, notes + at, sizeof(note));
			if (is_agents_note(&note, notes + at + sizeof(note)))
				return true;
			if (note.n_namesz > PROGRAM_NOTES_MAX || note.n_descsz > PROGRAM_NOTES_MAX)
				break;
			next = sizeof(note) + ((note.n_namesz + 3) & ~3u) +
			       ((note.n_descsz + 3) & ~3u);
			if (next > header.p_filesz - at)
				break;
			at += next;
		}
	}
	return false;
}

static void read_sections(struct program *program)
{
	uint32_t count = program->elf.e_shnum;
	size_t bytes = (size_t)count * sizeof(*program->sections);

	if (count == 0 || count > SECTIONS_MAX ||
	    program->elf.e_shentsize != sizeof(*program->sections))
		return;
	program->sections = malloc(bytes);
	if (program->sections == NULL)
		return;
	if (read_at(program->fd, program->sections, bytes, program->elf.e_shoff)) {
		program->section_count = count;
		return;
	}
	free(program->sections);
	program->sections = NULL;
}

static bool has_section(struct program *program, const char *wanted)
{
	const char *name;
	bool found = false;
	char *names;

	if (program->elf.e_shstrndx >= program->section_count)
		return false;
	names = read_section(program, &program->sections[program->elf.e_shstrndx]);
	for (uint32_t i = 0; names != NULL && i < program->section_count && !found; i++) {
		if (program->sections[i].sh_name >=
		    program->sections[program->elf.e_shstrndx].sh_size)
			continue;
		name = names + program->sections[i].sh_name;
		found = strcmp(name, wanted) == 0;
	}
	free(names);
	return found;
}

/* True for a Go program: its linker adds one of two sections, which strip(1) does not remove. */
static bool is_go(struct program *program)
{
	return has_section(program, ".go.buildinfo") || has_section(program, ".note.go.buildid");
}

/* True for a native image of GraalVM: a section has the objects with which its heap begins. */
static bool is_native_image(struct program *program)
{
	return has_section(program, ".svm_heap");
}

/*
 * Returns the sanitizer that defines or uses this symbol; NULL: the symbol is no sanitizer's.  A
 * sanitizer's runtime has its own malloc(), in the program or in a library.
 */
static const char *find_sanitizer(const char *name)
{
	static const char *const names[][2] = {
		{ "__asan_init", "AddressSanitizer" },
		{ "__hwasan_init", "HWAddressSanitizer" },
		{ "__msan_init", "MemorySanitizer" },
		{ "__tsan_init", "ThreadSanitizer" },
	};

	for (size_t i = 0; i < GG_COUNT(names); i++)
		if (strcmp(name, names[i][0]) == 0)
			return names[i][1];
	return NULL;
}

/*
 * True for the allocation functions of jemalloc, tcmalloc, mimalloc, and of libc's own interface.
 */
static bool is_allocator(const char *name)
{
	static const char *const names[] = { "malloc",  "je_malloc", "_rjem_malloc", "je_mallocx",
		                             "mallocx", "tc_malloc", "mi_malloc" };

	for (size_t i = 0; i < GG_COUNT(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/*
 * Searches one symbol table for an allocator.  True: `why` names it.  If the program has a
 * sanitizer, `why` names the sanitizer instead of its malloc().
 */
static bool defines_allocator(struct program *program, const Elf64_Shdr *table)
{
	const Elf64_Shdr *strings;
	const char *allocator = NULL, *sanitizer = NULL;
	bool found;
	Elf64_Sym *symbols;
	char *names;

	if (table->sh_link >= program->section_count)
		return false;
	strings = &program->sections[table->sh_link];
	symbols = (Elf64_Sym *)(void *)read_section(program, table);
	names = read_section(program, strings);
	for (uint64_t i = 0; symbols != NULL && names != NULL && sanitizer == NULL &&
	                     i < table->sh_size / sizeof(*symbols);
	     i++) {
		unsigned int type = ELF64_ST_TYPE(symbols[i].st_info);

		if (symbols[i].st_name >= strings->sh_size)
			continue;
		sanitizer = find_sanitizer(names + symbols[i].st_name);
		if (allocator == NULL && symbols[i].st_shndx != SHN_UNDEF &&
		    (type == STT_FUNC || type == STT_GNU_IFUNC) &&
		    is_allocator(names + symbols[i].st_name))
			allocator = names + symbols[i].st_name;
	}
	found = sanitizer != NULL || allocator != NULL;
	program->is_sanitized = sanitizer != NULL;
	if (found)
		program->advice = sanitizer != NULL ? advice_sanitizer : advice_allocator;
	if (sanitizer != NULL)
		snprintf(program->why, GG_PRELOADABLE_WHY_MAX,
		         "it is built with %s, which has an allocator of its own that the agent "
		         "cannot see",
		         sanitizer);
	else if (allocator != NULL)
		snprintf(program->why, GG_PRELOADABLE_WHY_MAX,
		         "it has an allocator of its own (%s is in the program), which the agent "
		         "cannot see",
		         allocator);
	free(symbols);
	free(names);
	return found;
}

static bool has_allocator(struct program *program)
{
	bool found = false;

	for (uint32_t i = 0; i < program->section_count && !program->is_sanitized; i++)
		found |= (program->sections[i].sh_type == SHT_DYNSYM ||
		          program->sections[i].sh_type == SHT_SYMTAB) &&
		         defines_allocator(program, &program->sections[i]);
	return found;
}

static enum gg_preloadable because(struct program *program, enum gg_preloadable reach,
                                   const char *why)
{
	snprintf(program->why, GG_PRELOADABLE_WHY_MAX, "%s", why);
	return reach;
}

static enum gg_preloadable refused(struct program *program, const char *why)
{
	program->refuses = true;
	return because(program, GG_PRELOADABLE_NONE, why);
}

static bool has_musl_agent;

void gg_preloadable_set_musl_agent(bool has)
{
	has_musl_agent = has;
}

#if defined(__aarch64__)
enum { OUR_MACHINE = EM_AARCH64 };
#else
enum { OUR_MACHINE = EM_X86_64 };
#endif

/*
 * Judges an ELF program: its architecture, its loader, Go, native images of Java programs, and
 * other allocators, in this order.
 */
static enum gg_preloadable examine_elf(struct program *program)
{
	if (program->elf.e_ident[EI_CLASS] != ELFCLASS64)
		return refused(program, "it is a 32-bit program, and the agent is not");
	if (program->elf.e_machine != OUR_MACHINE)
		return refused(program, "it is a program of another architecture than the agent");
	if (!read_interpreter(program))
		return GG_PRELOADABLE_ALL;
	if (program->interpreter[0] == '\0' && has_agent(program))
		return GG_PRELOADABLE_ALL;
	read_sections(program);
	if (program->interpreter[0] == '\0') {
		program->advice = is_go(program) ? advice_go : advice_static;
		return because(
			program, GG_PRELOADABLE_NONE,
			is_go(program)
				? "it is a Go program, statically linked: Go has an allocator "
				  "of its own, and a profiler (runtime/pprof)"
				: "it is statically linked, so the loader cannot add the "
				  "agent");
	}
	program->is_musl = strstr(program->interpreter, "/ld-musl") != NULL;
	if (program->is_musl && !has_musl_agent) {
		program->advice = advice_musl;
		return refused(program, "it is linked with musl, and the agent for musl is not "
		                        "installed (libgeiger-agent-musl.so)");
	}
	if (program->only_loading)
		return GG_PRELOADABLE_ALL;
	if (is_go(program)) {
		program->advice = advice_go;
		return because(
			program, GG_PRELOADABLE_PART,
			"it is a Go program: Go has an allocator of its own, which the agent "
			"cannot see, and a profiler (runtime/pprof)");
	}
	if (is_native_image(program)) {
		program->advice = advice_native_image;
		return because(
			program, GG_PRELOADABLE_PART,
			"it is a GraalVM native image: its Java heap is mapped memory, and it has "
			"no JVMTI, so only what its native code gets from malloc is seen");
	}
	return has_allocator(program) ? GG_PRELOADABLE_PART : GG_PRELOADABLE_ALL;
}

/* True if the kernel makes the loader ignore LD_PRELOAD (secure execution, ld.so(8)). */
static bool gains_privileges(int fd, const struct stat *file)
{
	return ((file->st_mode & S_ISUID) != 0 && file->st_uid != geteuid()) ||
	       ((file->st_mode & S_ISGID) != 0 && file->st_gid != getegid()) ||
	       (geteuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0);
}

/*
 * Finds in PATH the program that "env NAME" or "env -S NAME" executes.  False: the arguments are
 * not that simple, or PATH does not have the program.
 */
static bool find_behind_env(const char *arguments, char path[INTERPRETER_MAX])
{
	const char *next = getenv("PATH");
	char name[INTERPRETER_MAX];

	if (strncmp(arguments, "-S", 2) == 0)
		arguments += 2 + strspn(arguments + 2, " \t");
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(arguments, " \t\n"), arguments);
	if (name[0] == '\0' || strpbrk(name, "-=/") == name || strchr(name, '=') != NULL)
		return false;
	for (next = next != NULL ? next : "/bin:/usr/bin"; *next != '\0';) {
		size_t bytes = strcspn(next, ":");

		if (snprintf(path, INTERPRETER_MAX, "%.*s/%s", (int)bytes, next, name) <
		            INTERPRETER_MAX &&
		    path[0] == '/' && access(path, X_OK) == 0)
			return true;
		next += bytes + (next[bytes] == ':');
	}
	return false;
}

/* Reads the interpreter of a script, such as "#!/usr/bin/perl -w"; "": the file is no script. */
static void read_script(int fd, char interpreter[INTERPRETER_MAX])
{
	char line[INTERPRETER_MAX], *at = line + 2, *end;
	ssize_t length = pread(fd, line, sizeof(line) - 1, 0);

	interpreter[0] = '\0';
	if (length < 3 || memcmp(line, "#!", 2) != 0)
		return;
	line[length] = '\0';
	at += strspn(at, " \t");
	end = at + strcspn(at, " \t\n");
	snprintf(interpreter, INTERPRETER_MAX, "%.*s", (int)(end - at), at);
	if (end - at >= 4 && memcmp(end - 4, "/env", 4) == 0 && *end != '\0' && *end != '\n' &&
	    !find_behind_env(end + strspn(end, " \t"), interpreter))
		snprintf(interpreter, INTERPRETER_MAX, "%.*s", (int)(end - at), at);
}

/* More than a reach: these follow from the same look at the file. */
struct verdict {
	bool refuses;       /* its loader fails with the agent, or complains */
	bool is_musl;       /* it needs the agent for musl */
	const char *advice; /* how to profile it nevertheless, or NULL */
};

/*
 * Examines a program, or the interpreter of a script.  `is_interpreter`: the file is an interpreter
 * already, so it is not searched for another one, and two scripts that name each other do not loop.
 */
static enum gg_preloadable examine(const char *path, bool is_interpreter, bool only_loading,
                                   char why[GG_PRELOADABLE_WHY_MAX], struct verdict *ret_verdict)
{
	struct program program = { .why = why,
		                   .left_bytes = READ_MAX,
		                   .only_loading = only_loading };
	char interpreter[INTERPRETER_MAX] = "";
	enum gg_preloadable reach = GG_PRELOADABLE_ALL;
	struct stat file;

	why[0] = '\0';
	*ret_verdict = (struct verdict){ 0 };
	program.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (program.fd < 0)
		return GG_PRELOADABLE_ALL;
	if (fstat(program.fd, &file) < 0 || !S_ISREG(file.st_mode)) {
		close(program.fd);
		return GG_PRELOADABLE_ALL;
	}
	if (gains_privileges(program.fd, &file)) {
		program.advice = advice_privileges;
		reach = because(&program, GG_PRELOADABLE_NONE,
		                "it runs with more privileges than its caller (set-user-ID), where "
		                "the loader takes no agent");
	} else if (read_at(program.fd, &program.elf, sizeof(program.elf), 0) &&
	           memcmp(program.elf.e_ident, ELFMAG, SELFMAG) == 0) {
		reach = examine_elf(&program);
	} else if (!is_interpreter) {
		read_script(program.fd, interpreter);
	}
	free(program.sections);
	close(program.fd);
	*ret_verdict = (struct verdict){ program.refuses, program.is_musl, program.advice };
	return interpreter[0] == '/' ? examine(interpreter, true, only_loading, why, ret_verdict)
	                             : reach;
}

enum gg_preloadable gg_preloadable_of(const char *path, char why[GG_PRELOADABLE_WHY_MAX])
{
	struct verdict verdict;

	return examine(path, false, false, why, &verdict);
}

bool gg_preloadable_loads(const char *path, char why[GG_PRELOADABLE_WHY_MAX])
{
	struct verdict verdict;

	return examine(path, false, true, why, &verdict) != GG_PRELOADABLE_NONE;
}

bool gg_preloadable_refuses(const char *path, char why[GG_PRELOADABLE_WHY_MAX])
{
	struct verdict verdict;

	examine(path, false, true, why, &verdict);
	return verdict.refuses;
}

bool gg_preloadable_is_musl(const char *path)
{
	char why[GG_PRELOADABLE_WHY_MAX];
	struct verdict verdict;

	examine(path, false, true, why, &verdict);
	return verdict.is_musl;
}

const char *gg_preloadable_advice(const char *path)
{
	char why[GG_PRELOADABLE_WHY_MAX];
	struct verdict verdict;

	examine(path, false, false, why, &verdict);
	return verdict.advice;
}
