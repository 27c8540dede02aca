//! The page of the functions says what they are.

use super::worker::Place;

const PAGE: &str = include_str!("../../../../../docs/reference/sql.md");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_function_and_every_code_is_in_the_reference() {
    let place = Place::make().await;
    let functions = place.rows(
        "select format('### `%s(%s)`', proname, pg_get_function_arguments(oid)) from pg_proc \
         where pronamespace = 'hookonce'::regnamespace and prosecdef",
    );
    assert_eq!(functions.len(), 8);
    for function in functions {
        assert!(PAGE.contains(&function), "it has no `{function}`");
    }
    let bodies =
        place.rows("select prosrc from pg_proc where pronamespace = 'hookonce'::regnamespace");
    let mut codes: Vec<&str> = bodies
        .iter()
        .flat_map(|body| body.split("errcode = '").skip(1).map(|rest| &rest[..5]))
        .collect();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes, ["40001", "HK001", "HK002", "HK003", "HK004"]);
    for code in codes {
        assert!(PAGE.contains(&format!("| `{code}` |")), "it has no `{code}`");
    }
}
