/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_vm - a libjvm.so that test_jvm_join.c has instead of a VM.  It exists from the beginning, as
 * VMs before JDK 22 do, and counts the threads that attach themselves.
 */
#include <jni.h>
#include <stddef.h>

#include "fake_vm.h"

#ifdef IS_HOTSPOT
JNIEXPORT const void *gHotSpotVMStructs; /* only its presence matters */
#endif

JNIEXPORT uint32_t fake_vm_attach_count;

static jint JNICALL attach(JavaVM *vm, void **ret_env, void *arguments)
{
	(void)vm, (void)arguments;
	*ret_env = NULL;
	__atomic_add_fetch(&fake_vm_attach_count, 1, __ATOMIC_SEQ_CST);
	return JNI_OK;
}

static jint JNICALL detach(JavaVM *vm)
{
	(void)vm;
	return JNI_OK;
}

static const struct JNIInvokeInterface_ calls = {
	.AttachCurrentThreadAsDaemon = attach,
	.DetachCurrentThread = detach,
};

static JavaVM the_vm = &calls;

JNIEXPORT jint JNICALL JNI_GetCreatedJavaVMs(JavaVM **ret_vms, jsize capacity, jsize *ret_count)
{
	if (capacity > 0)
		*ret_vms = &the_vm;
	*ret_count = 1;
	return JNI_OK;
}
