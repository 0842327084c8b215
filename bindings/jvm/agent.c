/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent - the doors into the adapter: geiger's agent opens one, the VM the other two.
 *
 *   gg_jvm_install()   the preloaded or attached agent: joins the VM from inside (join.h)
 *   Agent_OnLoad()     java -agentpath:/usr/lib/.../libgeiger-jvm.so[=interval=BYTES,dir=DIRECTORY]
 *   Agent_OnAttach()   geiger attach --only jvm PID, or jcmd PID JVMTI.agent_load
 *
 * From the VM's doors, the adapter records to a region of its own where no agent does.  An agent's
 * interval wins, because the user of `geiger record` gave it to the whole session.
 */
#include <stdio.h>
#include <string.h>

#include <geiger/geiger.h>

#include "base/size.h"
#include "embed/sampling_settings.h"
#include "join.h"
#include "vm.h"

#define DOOR __attribute__((visibility("default")))

DOOR const char *gg_jvm_install(const struct gg_agent_functions *agent);

DOOR const char *gg_jvm_install(const struct gg_agent_functions *agent)
{
	gg_embed_settings_use_agent(agent);
	if (gg_load_relaxed(&gg_embed_settings.is_own) != 0)
		return "-agentpath: records them to a region of its own already";
	gg_embed_settings_refresh();
	/* A callback may be giving back an earlier attach's sampler; the thread waits for it. */
	return gg_jvm_join_start() == 0 ? NULL : "no thread could be started";
}

/*
 * "interval=64k", "dir=/run/geiger", or both with a comma between; the directory comes last, and
 * may have commas.  The text stays.
 */
static const char *read_options(const char *text, struct geiger_options *ret_options)
{
	static const char interval[] = "interval=", directory[] = "dir=";
	char number[32];
	size_t length;

	*ret_options = (struct geiger_options){ .interval_bytes = 0 };
	if (text != NULL && strncmp(text, interval, sizeof(interval) - 1) == 0) {
		text += sizeof(interval) - 1;
		length = strcspn(text, ",");
		snprintf(number, sizeof(number), "%.*s", (int)length, text);
		if (gg_size_parse(number, &ret_options->interval_bytes) < 0 ||
		    ret_options->interval_bytes == 0)
			return "no Java objects are shown: interval= needs a size such as 65536 or "
			       "64k";
		text += length + (text[length] == ',');
	}
	if (text != NULL && strncmp(text, directory, sizeof(directory) - 1) == 0)
		ret_options->directory = text + sizeof(directory) - 1;
	else if (text != NULL && *text != '\0')
		return "no Java objects are shown: the options of the agent are interval=BYTES and "
		       "dir=DIRECTORY";
	return NULL;
}

/* True: an agent records, by its own settings, even if it is off just now. */
static bool has_agent(void)
{
	struct gg_agent_settings settings;

	gg_embed_settings_find_agent();
	if (gg_load_relaxed(&gg_embed_settings.is_own) != 0)
		return false;
	gg_embed_agent()->read_settings(&settings);
	return settings.change_count != 0;
}

static const char *begin_region(const struct geiger_options *options)
{
	if (has_agent()) {
		if (options->interval_bytes != 0)
			gg_embed_agent()->log("interval= of -agentpath: is not used, because "
			                      "geiger records with an interval of its own");
		return NULL;
	}
	return geiger_start(options) == 0
	               ? NULL
	               : "no Java objects are shown: no region could be made for the samples";
}

static jint begin(JavaVM *vm, const char *text, bool is_live)
{
	struct geiger_options options;
	const char *why = read_options(text, &options);

	if (why == NULL)
		why = begin_region(&options);
	if (why == NULL)
		why = gg_jvm_begin(vm, is_live);
	if (why == NULL)
		return JNI_OK;
	fprintf(stderr, "libgeiger-jvm: %s\n", why);
	return JNI_ERR;
}

/* The VM would end the program if it heard of an error here. */
JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	(void)reserved;
	begin(vm, options, false);
	return JNI_OK;
}

JNIEXPORT jint JNICALL Agent_OnAttach(JavaVM *vm, char *options, void *reserved)
{
	(void)reserved;
	return begin(vm, options, true);
}
