//! Times as the server writes them: microseconds since the year 2000.

use std::error::Error;

use bytes::{BufMut as _, BytesMut};
use jiff::Timestamp;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

/// The year 2000, in microseconds since 1970.
const EPOCH: i64 = 946_684_800_000_000;

/// A time in a `timestamptz`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Time(pub(super) Timestamp);

impl ToSql for Time {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.put_i64(self.0.as_microsecond().saturating_sub(EPOCH));
        Ok(IsNull::No)
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::TIMESTAMPTZ
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Time {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        let micros = i64::from_be_bytes(raw.try_into()?).saturating_add(EPOCH);
        Ok(Self(Timestamp::from_microsecond(micros)?))
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::TIMESTAMPTZ
    }
}
