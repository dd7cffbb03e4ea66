// Client.java - pgjdbc, by one number of uses before it prepares; see schema.py.
// SPDX-License-Identifier: ISC
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

public class Client {
    static String url;
    static final Map<String, Connection> conns = new HashMap<>();

    static Connection open() throws SQLException {
        return DriverManager.getConnection(url);
    }

    static String show(ResultSet rows) throws SQLException {
        StringBuilder said = new StringBuilder("row");
        while (rows.next())
            for (int i = 1; i <= rows.getMetaData().getColumnCount(); i++) {
                String name = rows.getMetaData().getColumnName(i);
                said.append(" " + name + "=" + rows.getString(name));
            }
        return said.toString();
    }

    static String query(Connection c, String text, long arg) throws SQLException {
        try (PreparedStatement s = c.prepareStatement(text)) {
            s.setInt(1, (int) arg);
            try (ResultSet rows = s.executeQuery()) {
                return show(rows);
            }
        }
    }

    static String crowd(int clients, int rounds) throws InterruptedException {
        List<String> bad = Collections.synchronizedList(new ArrayList<>());
        List<Thread> threads = new ArrayList<>();
        for (int n = 1; n <= clients; n++) {
            int id = n;
            Thread t = new Thread(() -> {
                try (Connection c = open()) {
                    for (int i = 0; i < rounds; i++) {
                        String said = query(c, "select ?::int4 + " + id * 1000 + " as n" + id, i);
                        if (!said.equals("row n" + id + "=" + (id * 1000 + i)))
                            bad.add(said);
                    }
                } catch (SQLException e) {
                    bad.add("error " + e.getSQLState());
                }
            });
            t.start();
            threads.add(t);
        }
        for (Thread t : threads)
            t.join();
        return "wrong " + bad.size() + (bad.isEmpty() ? "" : " " + bad.get(0));
    }

    static String answer(String[] word) throws Exception {
        switch (word[0]) {
        case "open":
            conns.put(word[1], open());
            break;
        case "select":
            return query(conns.get(word[1]), "select * from t where id = ?", 1);
        case "insert":
            try (PreparedStatement s = conns.get(word[1]).prepareStatement(
                    "insert into t (id, a) values (2, ?)")) {
                s.setLong(1, Long.parseLong(word[2]));
                s.execute();
            }
            break;
        case "crowd":
            return crowd(Integer.parseInt(word[1]), Integer.parseInt(word[2]));
        case "begin":
            conns.get(word[1]).setAutoCommit(false);
            // the BEGIN goes with the first query
            query(conns.get(word[1]), "select ?::int4", 1);
            break;
        default:
            conns.get(word[1]).rollback();
            conns.get(word[1]).setAutoCommit(true);
        }
        return "ok";
    }

    public static void main(String[] args) throws Exception {
        url = "jdbc:postgresql://" + System.getenv("PGHOST") + ":" + System.getenv("PGPORT")
            + "/" + System.getenv("PGDATABASE") + "?sslmode=disable&user=" + System.getenv("PGUSER")
            + "&prepareThreshold=" + args[0];
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null;) {
            String said;
            try {
                said = answer(line.split(" "));
            } catch (SQLException e) {
                said = "error " + e.getSQLState();
            }
            System.out.println(said);
        }
    }
}
