//! What a client shows of the schema.

use super::worker::Place;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_function_table_and_column_has_a_comment() {
    let place = Place::make().await;
    let bare = place.rows(
        "select c.relname || coalesce('.' || a.attname, '') from pg_class c \
         left join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped \
         where c.relnamespace = 'hookonce'::regnamespace and c.relkind = 'r' \
         and (col_description(c.oid, a.attnum) is null or obj_description(c.oid, 'pg_class') is null) \
         union all \
         select p.oid::regprocedure::text from pg_proc p \
         where p.pronamespace = 'hookonce'::regnamespace and obj_description(p.oid, 'pg_proc') is null",
    );
    // The bed's own clock replaces the body and keeps the comment.
    assert!(bare.is_empty(), "without a comment: {bare:#?}");
    let functions =
        "select count(*) > 30 from pg_proc where pronamespace = 'hookonce'::regnamespace";
    assert_eq!(place.text(functions), "t");
}
