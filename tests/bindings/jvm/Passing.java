/* SPDX-License-Identifier: Apache-2.0 */
/* Passing - a class that Work defines again and again, and that the VM unloads. */
public class Passing {
    public static Object make(int count) {
        Object last = null;
        for (int i = 0; i < count; i++)
            last = new char[50];
        return last;
    }
}
