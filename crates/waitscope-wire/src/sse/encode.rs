//! Writing events.

/// The data of the event that ends an `OpenAI` stream.
pub const DONE: &str = "[DONE]";

/// Writes one event with this data: a `data:` line for each of its lines, then the blank line that
/// dispatches it.
pub fn encode(data: &str) -> String {
    let mut event = String::with_capacity(data.len() + 16);
    push_data(&mut event, data);
    event
}

/// Writes one event with this type, as Anthropic streams and `OpenAI` responses have it: an
/// `event:` line before what [`encode`] writes. A line end would end the name, so it ends there;
/// an empty name is read back as `message`.
pub fn encode_named(name: &str, data: &str) -> String {
    let name = name.split(['\n', '\r']).next().unwrap_or_default();
    let mut event = String::with_capacity(name.len() + data.len() + 24);
    event.push_str("event: ");
    event.push_str(name);
    event.push('\n');
    push_data(&mut event, data);
    event
}

fn push_data(event: &mut String, data: &str) {
    // Any of the three line ends would end the field, so each of them starts a new one.
    for line in data.split("\r\n").flat_map(|part| part.split(['\n', '\r'])) {
        event.push_str("data: ");
        event.push_str(line);
        event.push('\n');
    }
    event.push('\n');
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

    #[test]
    fn the_name_is_a_field_of_its_own() {
        for (name, data, expected) in [
            ("ping", "{}", "event: ping\ndata: {}\n\n"),
            ("a: b", "x\ny", "event: a: b\ndata: x\ndata: y\n\n"),
            ("a\ndata: z", "x", "event: a\ndata: x\n\n"),
            ("a\r\n\r\nb", "x", "event: a\ndata: x\n\n"),
            ("", "x", "event: \ndata: x\n\n"),
        ] {
            assert_eq!(encode_named(name, data), expected);
        }
    }
}
