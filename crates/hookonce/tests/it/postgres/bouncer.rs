//! Through PgBouncer.
