//! Writing events.

/// The data of the event that ends an `OpenAI` stream.
pub const DONE: &str = "[DONE]";

/// Writes one event with this data: a `data:` line for each of its lines, then the blank line that
/// dispatches it.
pub fn encode(data: &str) -> String {
    // Any of the three line ends would end the field, so each of them starts a new one.
    let lines = data.split("\r\n").flat_map(|part| part.split(['\n', '\r']));
    let mut event = String::with_capacity(data.len() + 16);
    for line in lines {
        event.push_str("data: ");
        event.push_str(line);
        event.push('\n');
    }
    event.push('\n');
    event
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_the_data_is_a_field() {
        for (data, expected) in [
            ("x", "data: x\n\n"),
            ("", "data: \n\n"),
            (" x: y", "data:  x: y\n\n"),
            ("a\nb", "data: a\ndata: b\n\n"),
            ("a\r", "data: a\ndata: \n\n"),
            ("a\r\nb\rc\n", "data: a\ndata: b\ndata: c\ndata: \n\n"),
        ] {
            assert_eq!(encode(data), expected);
        }
    }
}
