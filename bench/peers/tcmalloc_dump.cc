/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded over tcmalloc: writes its heap sample to $TCMALLOC_DUMP when the program ends.
 * gperftools has no setting for that: a program that samples with it must call this from its own
 * code.
 */
#include <cstdio>
#include <cstdlib>
#include <string>

#include <gperftools/malloc_extension.h>

namespace
{

struct at_end {
	~at_end()
	{
		const char *path = getenv("TCMALLOC_DUMP");
		FILE *file = path != nullptr ? fopen(path, "we") : nullptr;
		std::string text;

		if (file == nullptr)
			return;
		MallocExtension::instance()->GetHeapSample(&text);
		fwrite(text.data(), 1, text.size(), file);
		fclose(file);
	}
} dump;

} // namespace
