// Console.java - the admin console by JDBC: java -cp DRIVER Console.java PORT
// SPDX-License-Identifier: ISC
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

public class Console {
    static void check(boolean ok, String what) {
        if (!ok) {
            throw new AssertionError(what);
        }
    }

    static int rows(ResultSet rs) throws SQLException {
        int n = 0;
        while (rs.next()) {
            for (int i = 1; i <= rs.getMetaData().getColumnCount(); i++) {
                rs.getObject(i);
            }
            n++;
        }
        rs.close();
        return n;
    }

    static void plain(Connection c) throws SQLException {
        check(c.getMetaData().getDatabaseProductName() != null, "product");
        try (Statement s = c.createStatement()) {
            ResultSet rs = s.executeQuery("SHOW DATABASES");
            check(rs.next() && rs.getString("name").equals("p0"), "p0");
            check(rs.getInt("port") > 0, "port");
            check(rs.getInt("paused") == 0 && !rs.wasNull(), "paused");
            for (String topic : new String[] {"POOLS", "CLIENTS", "SERVERS",
                "STATS", "STATS_TOTALS", "LISTS", "CONFIG", "USERS", "MEM",
                "VERSION", "TOTALS", "STATE"}) {
                check(rows(s.executeQuery("SHOW " + topic)) > 0, topic);
            }
            rs = s.executeQuery("SHOW STATS_TOTALS");
            check(rs.next() && rs.getBigDecimal(2) != null, "numeric");
            rs = s.executeQuery("SHOW JSON LISTS");
            check(rs.next() && rs.getString(1).startsWith("["), "json");
        }
    }

    /* Often enough for the driver to switch to named, binary statements. */
    static void prepared(Connection c) throws SQLException {
        String q = "SELECT name, port FROM databases WHERE name = ? LIMIT ?";
        try (PreparedStatement s = c.prepareStatement(q)) {
            for (int i = 0; i < 20; i++) {
                s.setString(1, i % 2 == 0 ? "p0" : "p1");
                s.setInt(2, 5);
                ResultSet rs = s.executeQuery();
                check(rs.next(), "a row");
                check(rs.getString(1).equals(i % 2 == 0 ? "p0" : "p1"), "db");
                check(rs.getInt(2) > 0 && !rs.next(), "one row");
            }
        }
    }

    static void inPieces(Connection c) throws SQLException {
        c.setAutoCommit(false);
        try (PreparedStatement s = c.prepareStatement("SHOW CONFIG")) {
            for (int i = 0; i < 7; i++) {
                s.setFetchSize(10);
                check(rows(s.executeQuery()) > 80, "all settings");
            }
        }
        c.commit();
        c.rollback();
        c.setAutoCommit(true);
    }

    static void errors(Connection c) throws SQLException {
        for (int i = 0; i < 10; i++) {
            try (Statement s = c.createStatement()) {
                s.execute("NONSENSE");
                check(false, "no error");
            } catch (SQLException e) {
                check(e.getSQLState().equals("08P01"), e.toString());
            }
            try (Statement s = c.createStatement()) {
                s.execute("RELOAD");
                s.execute("SET query_timeout = 0");
            }
        }
    }

    public static void main(String[] args) throws SQLException {
        String url = "jdbc:postgresql://127.0.0.1:" + args[0] + "/pgbouncer";
        for (String more : new String[] {"?prepareThreshold=5",
            "?preferQueryMode=simple", "?preferQueryMode=extended",
            "?binaryTransferEnable=INT4,INT8,NUMERIC,TEXT&prepareThreshold=-1"
            }) {
            try (Connection c = DriverManager.getConnection(url + more,
                "admin", "adminpw")) {
                /* as a simple query, an empty one is an error there */
                check(more.contains("simple") || c.isValid(5), "isValid");
                plain(c);
                prepared(c);
                inPieces(c);
                errors(c);
            }
        }
        System.out.println("good");
    }
}
