//! Copies a store's file to a new one while it is in use.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use super::session::Session;
use crate::store::StoreError;

/// One read transaction, so that the copy is of one instant; on the disk when it returns.
pub(super) fn backup(from: &Path, to: &Path) -> Result<(), StoreError> {
    let failed = |error: std::io::Error| StoreError::Unavailable {
        message: format!("`{}` can't be written: {error}", to.display()),
        source: Some(Box::new(error)),
    };
    // An absolute path: SQLite would read `:memory:` or `file:…` as something else than a file.
    let to = std::path::absolute(to).map_err(failed)?;
    let name = to.to_str().ok_or_else(|| {
        let message = format!("`{}` is not UTF-8, and SQLite takes no other names", to.display());
        StoreError::unavailable(message)
    })?;
    if ["-wal", "-shm", "-journal"].iter().any(|ending| name.ends_with(ending)) {
        let message =
            format!("`{name}` could be taken for a part of a database: name it otherwise");
        return Err(StoreError::unavailable(message));
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(&to).map_err(failed)?;
    let copy = || {
        let connection = Session::open_plain(from)?;
        connection.execute("vacuum into ?", (name,))?;
        // SQLite doesn't flush the copy.
        File::open(&to).and_then(|file| file.sync_all()).map_err(failed)?;
        let folder = File::open(to.parent().unwrap_or(Path::new("/")));
        folder.and_then(|folder| folder.sync_all()).map_err(failed)
    };
    copy().inspect_err(|_: &StoreError| {
        // An unfinished copy would be taken for one.
        let _ = std::fs::remove_file(&to);
    })
}
