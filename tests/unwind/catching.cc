// SPDX-License-Identifier: Apache-2.0
//
// Exceptions for tests in C.
extern "C" {

// Calls f(context); 1 if it has thrown.
int catching_call(void (*f)(void *), void *context)
{
	try {
		f(context);
	} catch (int thrown) {
		return thrown;
	}
	return 0;
}

void catching_throw()
{
	throw 1;
}
}
