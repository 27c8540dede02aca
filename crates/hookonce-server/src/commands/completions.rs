//! Prints a script that completes `hookonce` commands in a shell.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::out;

pub(crate) fn run(shell: Shell) -> anyhow::Result<()> {
    let mut script = vec![];
    clap_complete::generate(shell, &mut Cli::command(), "hookonce", &mut script);
    out::raw(&String::from_utf8(script)?)
}
