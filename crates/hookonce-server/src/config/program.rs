//! Where the program of a command is looked for.

use std::ffi::OsStr;
use std::path::Path;

use rustix::fs::{Access, access};

/// Where programs are looked for without a `PATH`, as far as systems agree.
const WITHOUT_PATH: &str = "/bin:/usr/bin";

/// Whether there is such a program: at its path, which starts from `dir`, or in one of the
/// directories of `search_path`.
pub(crate) fn is_there(program: &str, dir: &Path, search_path: Option<&OsStr>) -> bool {
    let is_program = |path: &Path| {
        let path = dir.join(path);
        path.is_file() && access(&path, Access::EXEC_OK).is_ok()
    };
    if program.contains('/') {
        return is_program(program.as_ref());
    }
    let search_path = search_path.unwrap_or(WITHOUT_PATH.as_ref()).to_string_lossy();
    search_path.split(':').any(|place| is_program(&Path::new(place).join(program)))
}
