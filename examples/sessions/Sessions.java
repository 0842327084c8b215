/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions - a service that forgets to remove what it registers.
 *
 *   javac Sessions.java
 *   geiger record -i 64k -o sessions.geiger -- java Sessions 200000
 *   geiger leaks sessions.geiger
 *   geiger report --by type sessions.geiger
 *
 * Each request makes a page, which is garbage afterwards, and a session, which is removed when the
 * user logs out.  The audit log keeps a listener for each session, and nobody removes it.
 */
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

public class Sessions {
    static final Map<Integer, Session> open = new HashMap<>();
    static final List<Runnable> audit = new ArrayList<>();
    static int logged;

    static class Session {
        final int user;
        final byte[] token = new byte[200];

        Session(int user) {
            this.user = user;
        }
    }

    static Session logIn(int user) {
        Session session = new Session(user);
        open.put(user, session);
        audit.add(() -> logged += session.user); /* the leak: it holds the session */
        return session;
    }

    static void logOut(int user) {
        open.remove(user);
    }

    static String render(Session session) {
        StringBuilder page = new StringBuilder();
        for (int i = 0; i < 50; i++)
            page.append("<li>").append(session.user).append('/').append(i).append("</li>");
        return page.toString();
    }

    public static void main(String[] arguments) {
        int requests = Integer.parseInt(arguments[0]);
        long bytes = 0;
        for (int i = 0; i < requests; i++) {
            bytes += render(logIn(i)).length();
            logOut(i);
        }
        System.out.println(requests + " requests, " + bytes + " bytes");
    }
}
