// main.rs - tokio-postgres, sqlx and Diesel, each by one way to send a query;
// see schema.py.
// SPDX-License-Identifier: ISC
use std::collections::HashMap;
use std::io::BufRead;

use diesel::connection::{CacheSize, Connection as _};
use diesel::{QueryableByName, RunQueryDsl};
use sqlx::{Column, ConnectOptions, Connection as _, Executor, Row};
use tokio_postgres::types::Type;

type Pairs = Vec<(String, String)>;

#[derive(QueryableByName)]
struct Whole {
    #[diesel(sql_type = diesel::sql_types::Integer)]
    id: i32,
    #[diesel(sql_type = diesel::sql_types::Integer)]
    a: i32,
    #[diesel(sql_type = diesel::sql_types::Text)]
    b: String,
}

#[derive(QueryableByName)]
struct Sum {
    #[diesel(sql_type = diesel::sql_types::Integer)]
    n: i32,
}

enum Client {
    Tokio(tokio_postgres::Client, HashMap<String, tokio_postgres::Statement>),
    Sqlx(sqlx::PgConnection, bool),
    Diesel(diesel::pg::PgConnection),
}

fn var(name: &str) -> String {
    std::env::var(name).unwrap()
}

fn url() -> String {
    format!(
        "postgres://{}@{}:{}/{}?sslmode=disable",
        var("PGUSER"),
        var("PGHOST"),
        var("PGPORT"),
        var("PGDATABASE")
    )
}

fn tokio_error(e: tokio_postgres::Error) -> String {
    e.code().map(|c| c.code().to_string()).unwrap_or(e.to_string())
}

fn sqlx_error(e: sqlx::Error) -> String {
    match e.as_database_error().and_then(|d| d.code()) {
        Some(code) => code.to_string(),
        None => e.to_string(),
    }
}

// Diesel does not tell the SQLSTATE.
fn diesel_error(e: diesel::result::Error) -> String {
    e.to_string()
}

fn tokio_value(row: &tokio_postgres::Row, i: usize) -> Result<String, String> {
    let kind = row.columns()[i].type_();
    let bad = |e: tokio_postgres::Error| e.to_string();
    Ok(match *kind {
        Type::INT4 => row.try_get::<_, i32>(i).map_err(bad)?.to_string(),
        Type::INT8 => row.try_get::<_, i64>(i).map_err(bad)?.to_string(),
        Type::FLOAT4 => row.try_get::<_, f32>(i).map_err(bad)?.to_string(),
        _ => row.try_get::<_, String>(i).map_err(bad)?,
    })
}

fn sqlx_value(row: &sqlx::postgres::PgRow, i: usize) -> Result<String, String> {
    let kind = row.columns()[i].type_info().to_string();
    let bad = |e: sqlx::Error| e.to_string();
    Ok(match kind.as_str() {
        "INT4" => row.try_get::<i32, _>(i).map_err(bad)?.to_string(),
        "INT8" => row.try_get::<i64, _>(i).map_err(bad)?.to_string(),
        "FLOAT4" => row.try_get::<f32, _>(i).map_err(bad)?.to_string(),
        _ => row.try_get::<String, _>(i).map_err(bad)?,
    })
}

impl Client {
    async fn open(driver: &str) -> Result<Client, String> {
        if driver == "tokio-postgres" {
            let (client, run) = tokio_postgres::connect(&url(), tokio_postgres::NoTls)
                .await
                .map_err(tokio_error)?;
            tokio::spawn(run);
            return Ok(Client::Tokio(client, HashMap::new()));
        }
        if driver.starts_with("sqlx") {
            let options: sqlx::postgres::PgConnectOptions = url().parse().map_err(sqlx_error)?;
            let c = options.connect().await.map_err(sqlx_error)?;
            return Ok(Client::Sqlx(c, driver == "sqlx"));
        }
        let mut c = diesel::pg::PgConnection::establish(&url()).map_err(|e| e.to_string())?;
        if driver == "diesel-unnamed" {
            c.set_prepared_statement_cache_size(CacheSize::Disabled);
        }
        Ok(Client::Diesel(c))
    }

    async fn number(&mut self, text: &str, n: i32) -> Result<Pairs, String> {
        match self {
            Client::Diesel(c) => {
                let rows: Vec<Sum> = diesel::sql_query(text)
                    .bind::<diesel::sql_types::Integer, _>(n)
                    .load(c)
                    .map_err(diesel_error)?;
                Ok(rows.iter().map(|r| ("n".into(), r.n.to_string())).collect())
            }
            _ => self.rows(text, n).await,
        }
    }

    async fn rows(&mut self, text: &str, n: i32) -> Result<Pairs, String> {
        let mut pairs = Pairs::new();
        match self {
            Client::Tokio(c, made) => {
                if !made.contains_key(text) {
                    let fresh = c.prepare(text).await.map_err(tokio_error)?;
                    made.insert(text.into(), fresh);
                }
                for row in c.query(&made[text], &[&n]).await.map_err(tokio_error)? {
                    for i in 0..row.len() {
                        pairs.push((row.columns()[i].name().into(), tokio_value(&row, i)?));
                    }
                }
            }
            Client::Sqlx(c, keeps) => {
                let query = sqlx::query(text).bind(n).persistent(*keeps);
                for row in c.fetch_all(query).await.map_err(sqlx_error)? {
                    for i in 0..row.len() {
                        pairs.push((row.columns()[i].name().into(), sqlx_value(&row, i)?));
                    }
                }
            }
            Client::Diesel(c) => {
                let rows: Vec<Whole> = diesel::sql_query(text)
                    .bind::<diesel::sql_types::Integer, _>(n)
                    .load(c)
                    .map_err(diesel_error)?;
                for r in rows {
                    pairs.push(("id".into(), r.id.to_string()));
                    pairs.push(("a".into(), r.a.to_string()));
                    pairs.push(("b".into(), r.b));
                }
            }
        }
        Ok(pairs)
    }

    async fn insert(&mut self, value: i64) -> Result<Pairs, String> {
        let text = "insert into t (id, a) values (2, $1)";
        match self {
            Client::Tokio(c, made) => {
                if !made.contains_key(text) {
                    let fresh = c.prepare(text).await.map_err(tokio_error)?;
                    made.insert(text.into(), fresh);
                }
                let done = match made[text].params()[0] {
                    Type::INT8 => c.execute(&made[text], &[&value]).await,
                    _ => {
                        let small = i32::try_from(value).map_err(|e| e.to_string())?;
                        c.execute(&made[text], &[&small]).await
                    }
                };
                done.map_err(tokio_error)?;
            }
            Client::Sqlx(c, keeps) => {
                let query = sqlx::query(text).bind(value).persistent(*keeps);
                c.execute(query).await.map_err(sqlx_error)?;
            }
            Client::Diesel(c) => {
                diesel::sql_query(text)
                    .bind::<diesel::sql_types::BigInt, _>(value)
                    .execute(c)
                    .map_err(diesel_error)?;
            }
        }
        Ok(Pairs::new())
    }

    async fn simple(&mut self, text: &str) -> Result<Pairs, String> {
        match self {
            Client::Tokio(c, _) => c.batch_execute(text).await.map_err(tokio_error)?,
            Client::Sqlx(c, _) => {
                c.execute(text).await.map_err(sqlx_error)?;
            }
            Client::Diesel(c) => {
                use diesel::connection::SimpleConnection;
                c.batch_execute(text).map_err(diesel_error)?;
            }
        }
        Ok(Pairs::new())
    }

    async fn close(self) {
        if let Client::Sqlx(c, _) = self {
            let _ = c.close().await;
        }
    }
}

fn show(done: Result<Pairs, String>) -> String {
    match done {
        Ok(pairs) => pairs
            .iter()
            .fold("row".to_string(), |s, (k, v)| format!("{s} {k}={v}")),
        Err(e) => format!("error {}", e.replace('\n', " ")),
    }
}

async fn one(driver: String, id: i32, rounds: i32) -> Vec<String> {
    let mut bad = Vec::new();
    match Client::open(&driver).await {
        Ok(mut c) => {
            for i in 0..rounds {
                let text = format!("select $1::int4 + {} as n", id * 1000);
                let said = show(c.number(&text, i).await);
                if said != format!("row n={}", id * 1000 + i) {
                    bad.push(said);
                }
            }
            c.close().await;
        }
        Err(e) => bad.push(e),
    }
    bad
}

async fn crowd(driver: &str, clients: i32, rounds: i32) -> String {
    // Diesel blocks its thread: each client has one of its own
    let threads: Vec<_> = (1..=clients)
        .map(|id| {
            let name = driver.to_string();
            std::thread::spawn(move || {
                tokio::runtime::Runtime::new().unwrap().block_on(one(name, id, rounds))
            })
        })
        .collect();
    let bad: Vec<String> = threads.into_iter().flat_map(|t| t.join().unwrap()).collect();
    format!("wrong {} {}", bad.len(), bad.first().map_or("", |s| s)).trim().into()
}

#[tokio::main]
async fn main() {
    let driver = std::env::args().nth(1).unwrap();
    let mut conns: HashMap<String, Client> = HashMap::new();
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let word: Vec<&str> = line.split(' ').collect();
        let said = match word[0] {
            "open" => match Client::open(&driver).await {
                Ok(c) => {
                    conns.insert(word[1].into(), c);
                    "ok".into()
                }
                Err(e) => format!("error {e}"),
            },
            "crowd" => crowd(&driver, word[1].parse().unwrap(), word[2].parse().unwrap()).await,
            what => {
                let c = conns.get_mut(word[1]).unwrap();
                match what {
                    "select" => show(c.rows("select * from t where id = $1", 1).await),
                    _ => {
                        let done = match what {
                            "insert" => c.insert(word[2].parse().unwrap()).await,
                            _ => c.simple(what).await,
                        };
                        match done {
                            Ok(_) => "ok".into(),
                            Err(e) => format!("error {}", e.replace('\n', " ")),
                        }
                    }
                }
            }
        };
        println!("{said}");
    }
}
