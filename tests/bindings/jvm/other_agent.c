/* SPDX-License-Identifier: Apache-2.0 */
/* other_agent - an agent that takes the VM's sampler ("take"), or gives it back ("give"). */
#include <jvmti.h>
#include <string.h>

static jvmtiEnv *jvmti;

JNIEXPORT jint JNICALL Agent_OnAttach(JavaVM *vm, char *options, void *reserved)
{
	const jvmtiCapabilities sampler = { .can_generate_sampled_object_alloc_events = 1 };
	void *env = NULL;

	(void)reserved;
	if (jvmti == NULL && (*vm)->GetEnv(vm, &env, JVMTI_VERSION_11) == JNI_OK)
		jvmti = env;
	if (jvmti == NULL || options == NULL)
		return 2;
	return strcmp(options, "take") == 0
	               ? (*jvmti)->AddCapabilities(jvmti, &sampler) != JVMTI_ERROR_NONE
	               : (*jvmti)->RelinquishCapabilities(jvmti, &sampler) != JVMTI_ERROR_NONE;
}
