//! What goes to stdout and stderr. A reader that closed its end is no error: the line is lost,
//! the command goes on and its exit code stays.

use std::io::{self, IsTerminal, Write};

/// Writes `text` to stdout and flushes it.
///
/// # Errors
/// Any error but a closed pipe, a full disk for instance.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// One line on stderr that says what is wrong.
pub(crate) fn error(message: &str) {
    line("error", message);
}

/// One line on stderr about something that the user should know.
pub(crate) fn warn(message: &str) {
    line("warning", message);
}

fn line(label: &str, message: &str) {
    // Nobody is left to tell when stderr itself fails.
    let _ = writeln!(io::stderr().lock(), "{label}: {}", one_line(message));
}

/// Folds a message of several lines into one.
fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a stream may carry colour: a terminal, and `NO_COLOR` (no-color.org) not set.
pub(crate) fn may_color(stream: &impl IsTerminal) -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !refused && stream.is_terminal()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_one_line() {
        assert_eq!(one_line("a\n  b\tc "), "a b c");
    }
}
