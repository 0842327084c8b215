/* SPDX-License-Identifier: Apache-2.0 */
/* Work - programs for the tests of the adapter for Java VMs: Work NAME ARGUMENT... */
import java.lang.invoke.MethodHandles;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import javax.management.ObjectName;

public class Work {
    static volatile Object sink;

    static long allocatedBytes() {
        return ((com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean())
            .getThreadAllocatedBytes(Thread.currentThread().getId());
    }

    /*
     * Waits until geiger has joined: its thread has ended.  At once where there is none.  A
     * collection then takes the buffers of all threads, because VMs before 25 sample a thread from
     * its next buffer on.
     */
    static void awaitJoin() throws Exception {
        boolean found = true;
        while (found) {
            found = false;
            try (var tasks = Files.newDirectoryStream(Path.of("/proc/self/task"))) {
                for (Path task : tasks) {
                    try {
                        found |= Files.readString(task.resolve("comm")).startsWith("geiger-jvm");
                    } catch (java.io.IOException ended) {
                        continue;
                    }
                }
            }
            if (found)
                Thread.sleep(5);
        }
        System.gc();
    }

    /* One object of 40 bytes each, from `depth` calls deep. */
    static void deep(int depth, int count) {
        if (depth > 0) {
            deep(depth - 1, count);
            return;
        }
        for (int i = 0; i < count; i++)
            sink = new byte[24];
    }

    static void loop(int depth, int count) {
        allocatedBytes();
        long before = allocatedBytes();
        deep(depth, count);
        System.out.println(allocatedBytes() - before);
    }

    /* Small objects between large arrays, in one thread. */
    static Object small() {
        return new long[10];
    }

    static Object large(int bytes) {
        return new byte[bytes];
    }

    static void mixed(int arrays, int bytes, int smallPerArray) {
        for (int i = 0; i < arrays; i++) {
            sink = large(bytes);
            for (int j = 0; j < smallPerArray; j++)
                sink = small();
        }
    }

    /* Kept objects, and garbage; then a collection and the VM's own histogram. */
    static class Kept {
        long a, b, c;
        byte[] payload = new byte[100];
    }

    static class Dropped {
        long a, b;
    }

    static void live(int count) throws Exception {
        List<Kept> kept = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            kept.add(new Kept());
            for (int j = 0; j < 5; j++)
                sink = new Dropped();
        }
        sink = null;
        for (int i = 0; i < 3; i++)
            System.gc();
        String histogram = (String) ManagementFactory.getPlatformMBeanServer().invoke(
            new ObjectName("com.sun.management:type=DiagnosticCommand"), "gcClassHistogram",
            new Object[] { new String[0] }, new String[] { String[].class.getName() });
        for (String line : histogram.split("\n"))
            if (line.contains("Work$"))
                System.out.println(line.trim().replaceAll(" +", " "));
        Thread.sleep(300); /* the VM reports what died from a thread of its own */
        System.out.println(kept.size());
        Runtime.getRuntime().halt(0);
    }

    static List<Object> kept = new ArrayList<>();

    static void keepObjects(int count) {
        for (int i = 0; i < count; i++)
            kept.add(new byte[1000]);
    }

    static List<Object> passingObjects(int count) {
        List<Object> objects = new ArrayList<>();
        for (int i = 0; i < count; i++)
            objects.add(new byte[1000]);
        return objects;
    }

    static void lateObjects(int count) {
        for (int i = 0; i < count; i++)
            sink = new byte[1000];
    }

    /* Some objects are kept; others live until the last collection, which is full if asked. */
    static void survive(int isFull, int later) throws Exception {
        awaitJoin();
        List<Object> passing = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            keepObjects(1000);
            passing.addAll(passingObjects(1000));
            Thread.sleep(20);
        }
        passing = null;
        if (isFull != 0)
            System.gc();
        lateObjects(later);
        System.out.println(kept.size());
    }

    /* The heap is full in one line, always the same one. */
    static void exhaust() {
        Object[] kept = new Object[1000];
        for (int i = 0;; i++)
            kept[i] = new byte[1 << 20];
    }

    /* Classes that come and go, each with a method of its own name. */
    static void unload(int classes) throws Exception {
        for (int i = 0; i < classes; i++) {
            byte[] bytes;
            try (var stream = Work.class.getResourceAsStream("Passing.class")) {
                bytes = stream.readAllBytes();
            }
            Class<?> hidden = MethodHandles.lookup().defineHiddenClass(bytes, true).lookupClass();
            sink = hidden.getMethod("make", int.class).invoke(null, 2000);
            sink = null;
            if (i % 20 == 0)
                System.gc();
        }
        System.out.println(classes);
    }

    /* The sum of what many tasks computed: by virtual threads where there are some. */
    static void tasks(int count) throws Exception {
        ExecutorService pool;
        try {
            pool = (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
        } catch (NoSuchMethodException older) {
            pool = Executors.newFixedThreadPool(200);
        }
        List<Future<Long>> results = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int number = i;
            results.add(pool.submit(() -> {
                StringBuilder text = new StringBuilder();
                for (int j = 0; j < 20; j++) {
                    text.append(number * j);
                    Thread.yield();
                }
                return (long) text.toString().hashCode();
            }));
        }
        long sum = 0;
        for (Future<Long> result : results)
            sum += result.get();
        pool.shutdown();
        System.out.println(sum);
    }

    static void threads(int count) throws Exception {
        long[] total = { 0 };
        for (int i = 0; i < count; i += 50) {
            List<Thread> running = new ArrayList<>();
            for (int j = 0; j < 50; j++) {
                Thread thread = new Thread(() -> {
                    long before = allocatedBytes();
                    deep(3, 200);
                    synchronized (total) {
                        total[0] += allocatedBytes() - before > 8000 ? 1 : 0;
                    }
                });
                thread.start();
                running.add(thread);
            }
            for (Thread thread : running)
                thread.join();
        }
        System.out.println(total[0]);
    }

    static void server(int requests) throws Exception {
        var server = com.sun.net.httpserver.HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        server.createContext("/", exchange -> {
            byte[] body = exchange.getRequestURI().toString().repeat(100).getBytes();
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.setExecutor(Executors.newFixedThreadPool(4));
        server.start();
        HttpClient client = HttpClient.newHttpClient();
        List<Future<HttpResponse<String>>> answers = new ArrayList<>();
        long sum = 0;
        for (int i = 0; i < requests; i++) {
            answers.add(client.sendAsync(
                HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/" + i)).build(),
                HttpResponse.BodyHandlers.ofString()));
            if (answers.size() == 20) {
                for (var answer : answers)
                    sum += answer.get().body().hashCode();
                answers.clear();
            }
        }
        System.out.println(sum);
        System.exit(7);
    }

    static void direct(int count) {
        List<ByteBuffer> buffers = new ArrayList<>();
        for (int i = 0; i < count; i++)
            buffers.add(ByteBuffer.allocateDirect(100000));
        System.out.println(buffers.size());
        Runtime.getRuntime().halt(0);
    }

    /* Direct buffers from compiled code; ends as a program does. */
    static void wanted(List<ByteBuffer> buffers, int bytes) {
        buffers.add(ByteBuffer.allocateDirect(bytes));
        if (buffers.size() > 50)
            buffers.clear();
    }

    static void buffers(int count) {
        List<ByteBuffer> buffers = new ArrayList<>();
        for (int i = 0; i < count; i++)
            wanted(buffers, 100000);
    }

    /* As many threads allocate `count` objects of 40 bytes each; prints a line before. */
    static void parallel(int threads, int count) throws Exception {
        List<Thread> running = new ArrayList<>();
        System.out.println("begun");
        System.out.flush();
        for (int i = 0; i < threads; i++) {
            Thread thread = new Thread(() -> deep(3, count));
            thread.start();
            running.add(thread);
        }
        for (Thread thread : running)
            thread.join();
    }

    /* Threads that each allocate `count` objects of 40 bytes for each byte of standard input. */
    static void rounds(int threads, int count) throws Exception {
        CyclicBarrier begin = new CyclicBarrier(threads + 1), end = new CyclicBarrier(threads + 1);
        for (int i = 0; i < threads; i++) {
            Thread thread = new Thread(() -> {
                try {
                    for (;;) {
                        begin.await();
                        deep(3, count);
                        end.await();
                    }
                } catch (Exception ended) {
                    System.out.println(ended);
                }
            });
            thread.setDaemon(true);
            thread.start();
        }
        do {
            awaitJoin();
            begin.await();
            end.await();
            System.out.println("done");
            System.out.flush();
        } while (System.in.read() >= 0);
        Runtime.getRuntime().halt(0);
    }

    /* Allocates for ever; prints a line when it has begun. */
    static void forever() throws Exception {
        System.out.println("begun");
        System.out.flush();
        for (;;)
            deep(5, 100000);
    }

    /* 1000 objects of 40 bytes for each byte of standard input, in the main thread. */
    static void still() throws Exception {
        Thread idle = null;
        do {
            System.out.println("done");
            System.out.flush();
            int letter = System.in.read();
            if (letter < 0)
                return;
            if (letter == 'i') {
                idle = new Thread(java.util.concurrent.locks.LockSupport::park);
                idle.start();
            } else if (letter == 'e') {
                java.util.concurrent.locks.LockSupport.unpark(idle);
                idle.join();
            } else {
                deep(3, 1000);
            }
        } while (true);
    }

    /* Three threads that check their sums, until standard input ends. */
    static void until() throws Exception {
        boolean[] ended = { false };
        List<Thread> running = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            Thread thread = new Thread(() -> {
                while (!ended[0]) {
                    List<Integer> numbers = new ArrayList<>();
                    long sum = 0;
                    for (int j = 0; j < 10000; j++)
                        numbers.add(j);
                    for (int number : numbers)
                        sum += number;
                    if (sum != 49995000)
                        System.out.println("wrong " + sum);
                    deep(5, 1000);
                    Thread.yield();
                }
            });
            thread.start();
            running.add(thread);
        }
        System.out.println("begun");
        System.out.flush();
        while (System.in.read() >= 0)
            continue;
        ended[0] = true;
        for (Thread thread : running)
            thread.join(1000);
        System.out.println("ended");
        Runtime.getRuntime().halt(5);
    }

    public static void main(String[] arguments) throws Exception {
        int[] numbers = new int[arguments.length];
        for (int i = 1; i < arguments.length; i++)
            numbers[i] = Integer.parseInt(arguments[i]);
        awaitJoin();
        switch (arguments[0]) {
        case "loop": loop(numbers[1], numbers[2]); break;
        case "mixed": mixed(numbers[1], numbers[2], numbers[3]); break;
        case "live": live(numbers[1]); break;
        case "survive": survive(numbers[1], numbers[2]); break;
        case "exhaust": exhaust(); break;
        case "unload": unload(numbers[1]); break;
        case "tasks": tasks(numbers[1]); break;
        case "threads": threads(numbers[1]); break;
        case "server": server(numbers[1]); break;
        case "direct": direct(numbers[1]); break;
        case "buffers": buffers(numbers[1]); break;
        case "several": tasks(numbers[1]); threads(numbers[2]); unload(numbers[3]); server(numbers[4]); break;
        case "parallel": parallel(numbers[1], numbers[2]); break;
        case "rounds": rounds(numbers[1], numbers[2]); break;
        case "forever": forever(); break;
        case "still": still(); break;
        case "until": until(); break;
        default: throw new IllegalArgumentException(arguments[0]);
        }
    }
}
