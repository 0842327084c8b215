/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocate FRAMES COUNT [LIBRARY] - does nothing but allocate: for each line of standard input
 * COUNT objects of 40 bytes from FRAMES frames, after a tenth of that, which prints "ready".
 * LIBRARY is floor_agent.c, which gets the line.
 */
import java.io.BufferedReader;
import java.io.InputStreamReader;

public class Allocate {
    static volatile Object sink;

    static native void use(int way);

    static void deep(int frames, int count) {
        if (frames > 1) {
            deep(frames - 1, count);
            return;
        }
        for (int i = 0; i < count; i++)
            sink = new byte[24];
    }

    public static void main(String[] arguments) throws Exception {
        int frames = Integer.parseInt(arguments[0]) - 1, count = Integer.parseInt(arguments[1]);
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        if (arguments.length > 2)
            System.load(arguments[2]);
        for (int i = 0; i < 20; i++)
            deep(frames, count / 10);
        for (;;) {
            String line = input.readLine();
            if (line == null)
                return;
            if (arguments.length > 2)
                use(Integer.parseInt(line));
            deep(frames, count / 10);
            System.out.println("ready");
            input.readLine();
            deep(frames, count);
            System.out.println("done");
        }
    }
}
