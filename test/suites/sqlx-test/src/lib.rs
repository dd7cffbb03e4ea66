//! What sqlx's tests call themselves, under its names: connections to
//! DATABASE_URL, and tests of a type, which read a value and send it back.
// SPDX-License-Identifier: ISC
use sqlx::{pool::PoolOptions, Connection, Database, Pool};

pub use paste;

fn url() -> String {
    std::env::var("DATABASE_URL").expect("DATABASE_URL")
}

pub fn setup_if_needed() {}

pub async fn new<DB: Database>() -> anyhow::Result<DB::Connection> {
    Ok(DB::Connection::connect(&url()).await?)
}

pub async fn pool<DB: Database>() -> anyhow::Result<Pool<DB>> {
    Ok(PoolOptions::<DB>::new().max_connections(5).connect(&url()).await?)
}

/// name<Type>(Database, "expression of SQL" == value, ...)
#[macro_export]
macro_rules! test_type {
    ($name:ident<$ty:ty>($db:ident, $($sql:literal == $value:expr),+ $(,)?)) => {
        $crate::test_decode_type!($name<$ty>($db, $($sql == $value),+));
        $crate::test_prepared_type!($name<$ty>($db, $($sql == $value),+));
    };
    ($name:ident<$ty:ty>($db:ident, $query:literal,
            $($sql:literal == $value:expr),+ $(,)?)) => {
        $crate::test_decode_type!($name<$ty>($db, $($sql == $value),+));
        $crate::test_prepared_type!($name<$ty>($db, $query,
            $($sql == $value),+));
    };
    ($name:ident($db:ident, $($sql:literal == $value:expr),+ $(,)?)) => {
        $crate::test_type!($name<$name>($db, $($sql == $value),+));
    };
}

/// By a simple query, in text.
#[macro_export]
macro_rules! test_decode_type {
    ($name:ident<$ty:ty>($db:ident, $($sql:literal == $value:expr),+ $(,)?)) => {
        $crate::paste::item! {
            #[sqlx::test]
            #[allow(non_snake_case)]
            async fn [<decode_ $name>]() -> anyhow::Result<()> {
                use sqlx::{Executor, Row};
                let mut conn = $crate::new::<$db>().await?;
                $(
                    let row = conn.fetch_one(concat!("select ", $sql)).await?;
                    let got: $ty = row.try_get_unchecked(0)?;
                    assert_eq!($value, got);
                )+
                Ok(())
            }
        }
    };
}

/// By a statement, in binary, and back as its parameter.
#[macro_export]
macro_rules! test_prepared_type {
    ($name:ident<$ty:ty>($db:ident, $($sql:literal == $value:expr),+ $(,)?)) => {
        $crate::paste::item! {
            #[sqlx::test]
            #[allow(non_snake_case)]
            async fn [<prepared_ $name>]() -> anyhow::Result<()> {
                use sqlx::Row;
                let mut conn = $crate::new::<$db>().await?;
                $(
                    let row = sqlx::query(concat!("select ", $sql))
                        .fetch_one(&mut conn).await?;
                    let got: $ty = row.try_get_unchecked(0)?;
                    assert_eq!($value, got);
                    let row = sqlx::query("select $1")
                        .bind(got).fetch_one(&mut conn).await?;
                    let back: $ty = row.try_get_unchecked(0)?;
                    assert_eq!($value, back);
                )+
                Ok(())
            }
        }
    };
    /* by a query of its own: is it the same, the value, and the parameter */
    ($name:ident<$ty:ty>($db:ident, $query:literal,
            $($sql:literal == $value:expr),+ $(,)?)) => {
        $crate::paste::item! {
            #[sqlx::test]
            #[allow(non_snake_case)]
            async fn [<prepared_ $name>]() -> anyhow::Result<()> {
                use sqlx::Row;
                let mut conn = $crate::new::<$db>().await?;
                $(
                    let row = sqlx::query(&format!($query, $sql))
                        .bind($value).bind($value)
                        .fetch_one(&mut conn).await?;
                    let same: i32 = row.try_get(0)?;
                    assert_ne!(same, 0);
                    let got: $ty = row.try_get(1)?;
                    assert_eq!($value, got);
                    let back: $ty = row.try_get(2)?;
                    assert_eq!($value, back);
                )+
                Ok(())
            }
        }
    };
    ($name:ident($db:ident, $($sql:literal == $value:expr),+ $(,)?)) => {
        $crate::test_prepared_type!($name<$name>($db, $($sql == $value),+));
    };
}
