//! The command line: the subcommand enum, the flags that several commands share, and errors in
//! one line.

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use crate::commands::Command;
use crate::console;
use crate::exit::Exit;

/// Is the code waiting or working, and who else waits with it?
#[derive(Debug, Parser)]
#[command(
    name = "waitscope",
    version,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "New here? `waitscope demo` shows in half a minute what one waiting call does to a service.\n\
        Exit codes: 0 nothing wrong found, 1 the fault looked for was found, 2 the command line \
        or a file is wrong, 3 could not measure, 130 interrupted."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

/// Where the results of a measuring command go.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct OutputArgs {
    /// Print one JSON record on stdout and nothing else
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Write the JSON record to FILE as well
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// No progress and no warnings on stderr
    #[arg(long, short, help_heading = "Output")]
    pub quiet: bool,
    /// Exit 0 also when the fault looked for was found
    #[arg(long, help_heading = "Output")]
    pub exit_zero: bool,
}

/// Parses the command line. For `tickets`, `.env` in the working directory fills in what the
/// environment leaves open, and a flag wins over both.
///
/// # Errors
/// With the exit code once the error, the help or the version is printed.
pub(crate) fn parse() -> Result<Cli, Exit> {
    // Only the reference service reads `.env`: the measuring commands run in other people's
    // projects, whose `.env` is none of their business.
    if std::env::args_os().nth(1).is_some_and(|command| command == "tickets") {
        load_dot_env().or_else(|exit| if asks_for_help() { Ok(()) } else { Err(exit) })?;
    }
    Cli::try_parse().map_err(|error| show(&error))
}

/// A broken file is an error and not ignored.
#[expect(clippy::disallowed_methods, reason = "nothing runs yet")]
fn load_dot_env() -> Result<(), Exit> {
    // A NUL can be in no environment variable, and setting one panics.
    if std::fs::read(".env").is_ok_and(|bytes| bytes.contains(&0)) {
        if !asks_for_help() {
            console::error(".env has a NUL byte: mend or remove that line");
        }
        return Err(Exit::Usage);
    }
    match dotenvy::from_path(".env") {
        Ok(()) => Ok(()),
        Err(error) if error.not_found() => Ok(()),
        Err(error) => {
            if !asks_for_help() {
                console::error(&dot_env_trouble(&error));
            }
            Err(Exit::Usage)
        }
    }
}

fn asks_for_help() -> bool {
    std::env::args_os().any(|arg| arg == "--help" || arg == "-h")
}

/// Says what is wrong without repeating the line: it may hold a key.
fn dot_env_trouble(error: &dotenvy::Error) -> String {
    match error {
        dotenvy::Error::LineParse(..) => {
            ".env has a line that is no NAME=VALUE (a value with spaces needs quotes): mend or \
             remove it"
                .into()
        }
        dotenvy::Error::Io(error) => format!("cannot read .env: {error}"),
        _ => "cannot read .env".into(),
    }
}

fn show(error: &clap::Error) -> Exit {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // A closed or full stdout leaves nobody to tell.
            let _ = console::print(&rendered(error));
            Exit::Clean
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            Exit::Usage
        }
        _ => {
            console::error(&one_line(error));
            Exit::Usage
        }
    }
}

fn rendered(error: &clap::Error) -> String {
    if console::may_color(&std::io::stdout()) {
        error.render().ansi().to_string()
    } else {
        error.render().to_string()
    }
}

/// What is wrong and how to mend it, without the usage block: one line.
fn one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let message: Vec<&str> = text
        .lines()
        .map(|line| line.trim().trim_start_matches("error: "))
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        // "To pass '--data' as a value, use '-- --data'" helps nobody here.
        .filter(|line| !line.is_empty() && !line.starts_with("tip: to pass"))
        .collect();
    let command = std::env::args_os().nth(1).and_then(|name| name.into_string().ok());
    let help = match command {
        Some(name) if Cli::command().find_subcommand(&name).is_some() => {
            format!("waitscope {name}")
        }
        _ => "waitscope".to_owned(),
    };
    format!("{} (see `{help} --help`)", message.join("; "))
}
