/* SPDX-License-Identifier: Apache-2.0 */
/*
 * floor_agent - what the VM itself needs for each sample that an agent takes.
 *
 *   0  the sampler is off        2  the callback asks for the stack
 *   1  the callback is empty     3  and for the class, and tags the object, as geiger does
 */
#include <jvmti.h>
#include <stddef.h>

enum { INTERVAL_BYTES = 512 << 10, FRAMES_MAX = 512 };

static jvmtiEnv *jvmti;
static int way;
static jlong tag;

static void JNICALL on_sample(jvmtiEnv *env, JNIEnv *jni, jthread thread, jobject object,
                              jclass klass, jlong size)
{
	jvmtiFrameInfo frames[FRAMES_MAX];
	char *signature;
	jint count;

	(void)jni, (void)thread, (void)size;
	if (way >= 2)
		(*env)->GetStackTrace(env, NULL, 0, FRAMES_MAX, frames, &count);
	if (way < 3)
		return;
	if ((*env)->GetClassSignature(env, klass, &signature, NULL) == JVMTI_ERROR_NONE)
		(*env)->Deallocate(env, (unsigned char *)signature);
	(*env)->SetTag(env, object, ++tag);
}

static void JNICALL on_free(jvmtiEnv *env, jlong object)
{
	(void)env, (void)object;
}

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved)
{
	const jvmtiCapabilities capabilities = {
		.can_generate_sampled_object_alloc_events = 1,
		.can_generate_object_free_events = 1,
		.can_tag_objects = 1,
	};
	const jvmtiEventCallbacks callbacks = { .SampledObjectAlloc = on_sample,
		                                .ObjectFree = on_free };
	void *env = NULL;

	(void)reserved;
	if ((*vm)->GetEnv(vm, &env, JVMTI_VERSION_11) != JNI_OK)
		return JNI_ERR;
	jvmti = env;
	if ((*jvmti)->AddCapabilities(jvmti, &capabilities) != JVMTI_ERROR_NONE ||
	    (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof(callbacks)) != JVMTI_ERROR_NONE ||
	    (*jvmti)->SetHeapSamplingInterval(jvmti, INTERVAL_BYTES) != JVMTI_ERROR_NONE)
		return JNI_ERR;
	(*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_OBJECT_FREE, NULL);
	return JNI_VERSION_1_8;
}

JNIEXPORT void JNICALL Java_Allocate_use(JNIEnv *jni, jclass klass, jint wanted);

JNIEXPORT void JNICALL Java_Allocate_use(JNIEnv *jni, jclass klass, jint wanted)
{
	(void)jni, (void)klass;
	way = wanted;
	(*jvmti)->SetEventNotificationMode(jvmti, wanted > 0 ? JVMTI_ENABLE : JVMTI_DISABLE,
	                                   JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, NULL);
}
