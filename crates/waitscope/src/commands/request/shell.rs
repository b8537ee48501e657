//! The words of one pasted shell command: quotes, escapes and variables, as bash reads them.
//!
//! POSIX.1-2024, Shell Command Language, 2.2 (quoting, with `$'...'` in 2.2.4) and 2.6.2 (variables).
//! The crates that split words know no `$'...'`, which browsers write for every body with a quote.

use std::iter::Peekable;
use std::str::Chars;

/// Looks a variable of the environment up.
pub(super) type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The words of the one command in `text`, as bytes: `$'\xff'` is no UTF-8.
///
/// What comes after a `|` is left out, since it reads only the answer. A variable is one word, with
/// spaces too.
///
/// # Errors
/// When a quote is left open, a variable is not set, or the shell would do more than run a command.
pub(super) fn words(text: &str, variables: Variables<'_>) -> Result<Vec<Vec<u8>>, String> {
    let mut splitter =
        Splitter { chars: text.chars().peekable(), variables, words: Vec::new(), word: None };
    while let Some(char) = splitter.chars.next() {
        if splitter.take(char)? == Then::End {
            break;
        }
    }
    splitter.end_word();
    Ok(splitter.words)
}

/// Whether the command goes on.
#[derive(Debug, PartialEq, Eq)]
enum Then {
    More,
    End,
}

struct Splitter<'a> {
    chars: Peekable<Chars<'a>>,
    variables: Variables<'a>,
    words: Vec<Vec<u8>>,
    /// The word that is being read; one of `''` is empty and still a word.
    word: Option<Vec<u8>>,
}

impl Splitter<'_> {
    fn take(&mut self, char: char) -> Result<Then, String> {
        match char {
            '\n' => return self.end_line(),
            ' ' | '\t' | '\r' => self.end_word(),
            '#' if self.word.is_none() => while self.chars.next_if(|c| *c != '\n').is_some() {},
            '\'' => self.single_quoted()?,
            '"' => self.double_quoted()?,
            '\\' => self.escaped(),
            '$' if self.chars.next_if_eq(&'\'').is_some() => self.ansi_quoted()?,
            // $"..." is a text to be translated, and none is.
            '$' if self.chars.peek() == Some(&'"') => {}
            '$' => self.variable()?,
            '|' if self.chars.peek() != Some(&'|') => return Ok(Then::End),
            ';' if self.is_blank_from_here() => return Ok(Then::End),
            '^' if matches!(self.chars.peek(), Some('"' | '\n' | '\r')) => {
                return Err("that is the form for the Windows command prompt: copy it as cURL \
                            (bash)"
                    .into());
            }
            '`' => return Err(runs_another()),
            '<' | '>' => {
                return Err(format!("leave the redirection (`{char}`) out"));
            }
            ';' | '&' | '|' | '(' | ')' => {
                return Err(format!(
                    "`{char}` outside of quotes ends a command: put quotes around the URL or the \
                     text that it belongs to, and give one command only"
                ));
            }
            char => self.push(char),
        }
        Ok(Then::More)
    }

    fn word(&mut self) -> &mut Vec<u8> {
        self.word.get_or_insert_default()
    }

    fn push(&mut self, char: char) {
        let mut bytes = [0; 4];
        self.word().extend_from_slice(char.encode_utf8(&mut bytes).as_bytes());
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
    }

    /// Whether nothing but blanks is left.
    fn is_blank_from_here(&self) -> bool {
        self.chars.clone().all(char::is_whitespace)
    }

    fn end_line(&mut self) -> Result<Then, String> {
        self.end_word();
        if self.words.is_empty() {
            return Ok(Then::More);
        }
        let mut left: String = self.chars.clone().collect();
        left = left.lines().map(str::trim).filter(|line| !line.starts_with('#')).collect();
        if left.is_empty() {
            return Ok(Then::End);
        }
        Err("the command ends before its last line: end each line but the last with a backslash, \
             and give one command only"
            .into())
    }

    /// After a backslash outside of quotes.
    fn escaped(&mut self) {
        match self.chars.next() {
            // Nothing follows, or the line goes on.
            None | Some('\n') => {}
            Some('\r') if self.chars.next_if_eq(&'\n').is_some() => {}
            Some(char) => self.push(char),
        }
    }

    fn single_quoted(&mut self) -> Result<(), String> {
        self.word();
        loop {
            match self.chars.next() {
                None => return Err(open_quote("'")),
                Some('\'') => return Ok(()),
                Some(char) => self.push(char),
            }
        }
    }

    fn double_quoted(&mut self) -> Result<(), String> {
        self.word();
        loop {
            match self.chars.next() {
                None => return Err(open_quote("\"")),
                Some('"') => return Ok(()),
                Some('`') => return Err(runs_another()),
                Some('$') => self.variable()?,
                Some('\\') => match self.chars.next() {
                    None => return Err(open_quote("\"")),
                    Some('\n') => {}
                    Some('\r') if self.chars.next_if_eq(&'\n').is_some() => {}
                    Some(char @ ('$' | '`' | '"' | '\\')) => self.push(char),
                    Some(char) => {
                        self.push('\\');
                        self.push(char);
                    }
                },
                Some(char) => self.push(char),
            }
        }
    }

    /// After a `$` that begins no quotes.
    fn variable(&mut self) -> Result<(), String> {
        let name = match self.chars.peek() {
            Some('{') => {
                self.chars.next();
                let name = self.name();
                if self.chars.next() != Some('}') {
                    return Err("of ${...} only ${NAME} is understood".into());
                }
                name
            }
            Some('(') => return Err(runs_another()),
            Some(char) if char.is_ascii_digit() || "@*#?-$!".contains(*char) => {
                return Err(format!(
                    "${char} means something to the shell: put that text in single quotes"
                ));
            }
            Some(char) if char.is_ascii_alphabetic() || *char == '_' => self.name(),
            _ => {
                self.push('$');
                return Ok(());
            }
        };
        let Some(value) = (self.variables)(&name).filter(|_| !name.is_empty()) else {
            return Err(format!(
                "the variable ${name} is not set: export it, or put the text in single quotes if \
                 no variable is meant"
            ));
        };
        self.word().extend_from_slice(value.as_bytes());
        Ok(())
    }

    fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(char) = self.chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
            name.push(char);
        }
        name
    }

    /// After `$'`.
    fn ansi_quoted(&mut self) -> Result<(), String> {
        self.word();
        loop {
            match self.chars.next() {
                None => return Err(open_quote("$'")),
                Some('\'') => return Ok(()),
                Some('\\') => self.ansi_escape()?,
                Some(char) => self.push(char),
            }
        }
    }

    /// After a backslash within `$'...'`.
    fn ansi_escape(&mut self) -> Result<(), String> {
        let Some(char) = self.chars.next() else { return Err(open_quote("$'")) };
        let byte = match char {
            'a' => Some(0x07),
            'b' => Some(0x08),
            'e' | 'E' => Some(0x1b),
            'f' => Some(0x0c),
            'n' => Some(b'\n'),
            'r' => Some(b'\r'),
            't' => Some(b'\t'),
            'v' => Some(0x0b),
            '\\' | '\'' | '"' | '?' => Some(char as u8),
            'c' => match self.chars.next() {
                Some(char) if char.is_ascii() => Some(char as u8 & 0x1f),
                _ => return Err("\\c in $'...' needs a letter after it".into()),
            },
            'u' => return self.code_point(4),
            'U' => return self.code_point(8),
            'x' => self.number(16, 2).map(low_byte),
            '0'..='7' => {
                let first = char.to_digit(8).unwrap_or_default();
                let rest = (0..2).map_while(|_| self.digit(8));
                Some(low_byte(rest.fold(first, |number, digit| number * 8 + digit)))
            }
            _ => None,
        };
        match byte {
            Some(byte) => self.word().push(byte),
            None => self.not_an_escape(char),
        }
        Ok(())
    }

    /// Any other backslash stays.
    fn not_an_escape(&mut self, char: char) {
        self.push('\\');
        self.push(char);
    }

    /// A character by its number. Two halves of a UTF-16 pair are one character: JavaScript's numbers
    /// are those.
    fn code_point(&mut self, most_digits: u32) -> Result<(), String> {
        let Some(number) = self.number(16, most_digits) else {
            self.not_an_escape(if most_digits == 4 { 'u' } else { 'U' });
            return Ok(());
        };
        let mut number = number;
        if (0xd800..0xdc00).contains(&number) {
            let is_escape =
                self.chars.next_if_eq(&'\\').is_some() && self.chars.next_if_eq(&'u').is_some();
            let low = if is_escape { self.number(16, 4) } else { None };
            let low = low.filter(|low| (0xdc00..0xe000).contains(low));
            number = low.map_or(number, |low| 0x10000 + ((number - 0xd800) << 10) + (low - 0xdc00));
        }
        match char::from_u32(number) {
            Some(char) => self.push(char),
            None => return Err(format!("\\u{number:04x} in $'...' is no character")),
        }
        Ok(())
    }

    fn number(&mut self, radix: u32, most_digits: u32) -> Option<u32> {
        let mut number = self.digit(radix)?;
        for _ in 1..most_digits {
            let Some(digit) = self.digit(radix) else { break };
            // Eight hexadecimal digits are what 32 bits hold.
            number = number.wrapping_mul(radix).wrapping_add(digit);
        }
        Some(number)
    }

    fn digit(&mut self, radix: u32) -> Option<u32> {
        self.chars.next_if(|char| char.is_digit(radix)).and_then(|char| char.to_digit(radix))
    }
}

/// As bash takes `\400` and up.
fn low_byte(number: u32) -> u8 {
    (number & 0xff) as u8
}

fn open_quote(quote: &str) -> String {
    format!(
        "the quote {quote} is never closed: a command with quotes of its own is best saved in a \
         file, for --curl @FILE"
    )
}

fn runs_another() -> String {
    "$(...) and `...` would run a command: write out what they stand for".into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split(text: &str) -> Result<Vec<Vec<u8>>, String> {
        words(text, &|name| match name {
            "KEY" => Some("a b".into()),
            "EMPTY" => Some(String::new()),
            _ => None,
        })
    }

    #[test]
    fn words_are_as_bash_has_them() {
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            (" a  b\tc\n", &["a", "b", "c"]),
            ("'a b'\"c d\"e", &["a bc de"]),
            ("'' \"\" $''", &["", "", ""]),
            (r"'a\nb' 'it'\''s'", &[r"a\nb", "it's"]),
            (r#""a\"b\\c\$d\`e\n""#, &[r#"a"b\c$d`e\n"#]),
            (r"a\ b \'c \\", &["a b", "'c", r"\"]),
            ("a \\\n  b \\\r\n  c\r\n", &["a", "b", "c"]),
            ("\"a\\\nb\" 'c\\\nd'", &["ab", "c\\\nd"]),
            (r"$'a\'b\\c\nd\te\u0021'", &["a'b\\c\nd\te!"]),
            (r"$'\x41\x4a\101\60\561\e\cA\q\?\xg'", &["AJA0q\u{1b}\u{1}\\q?\\xg"]),
            (r"$'\u00e9\U1f600\ud83d\ude00'", &["é😀😀"]),
            (r#"$"a b""#, &["a b"]),
            (r#"$KEY "-$KEY-" ${KEY}s '$KEY' \$KEY"#, &["a b", "-a b-", "a bs", "$KEY", "$KEY"]),
            ("\"$EMPTY\" a$ \"$ b\"", &["", "a$", "$ b"]),
            ("a#b # c 'd", &["a#b"]),
            ("\n# about\na b\n# more\n\n", &["a", "b"]),
            ("a b | jq '.x", &["a", "b"]),
            ("a b ; \n", &["a", "b"]),
            ("a \\", &["a"]),
            ("http://h/?a=1*[x]{y}", &["http://h/?a=1*[x]{y}"]),
        ];
        for (text, expected) in cases {
            let got = split(text).unwrap();
            let got: Vec<_> = got.iter().map(|word| str::from_utf8(word).unwrap()).collect();
            assert_eq!(&got, expected, "{text}");
        }
        assert_eq!(split(r"$'\xe9\351'"), Ok(vec![vec![0xe9, 0xe9]]));
    }

    #[test]
    fn what_is_more_than_one_command_is_refused() {
        let cases = [
            ("a 'b", "quote ' is never closed"),
            ("a \"b", "quote \" is never closed"),
            ("a \"b\\", "never closed"),
            (r"$'a\'", "quote $' is never closed"),
            ("http://h/?a=1&b=2", "`&` outside of quotes"),
            ("a; b", "`;` outside"),
            ("a || b", "`|` outside"),
            ("a > b", "redirection (`>`)"),
            ("a -d @- <<X", "redirection (`<`)"),
            ("a\nb", "backslash"),
            ("a $(b)", "would run"),
            ("\"a `b`\"", "would run"),
            ("a $NO", "$NO is not set"),
            ("a ${}", "not set"),
            ("a ${KEY:-b}", "only ${NAME}"),
            ("a \"$5\"", "single quotes"),
            (r"$'\ud83d'", "no character"),
            (r"$'\ud83d\u0041'", "no character"),
            (r"$'\Uffffffff'", "no character"),
            (r"$'\cé'", "needs a letter"),
            ("curl ^\"http://h/^\" ^\n", "Windows"),
        ];
        for (text, expected) in cases {
            let error = split(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    /// As Chrome does.
    fn ansi_quote(word: &str) -> String {
        let escape = |char: char| match char {
            '\\' => r"\\".to_owned(),
            '\'' => r"\'".to_owned(),
            '\0'..='\x1f' | '\x7f'..='\u{9f}' | '!' => format!("\\u{:04x}", u32::from(char)),
            char => char.to_string(),
        };
        format!("$'{}'", word.chars().map(escape).collect::<String>())
    }

    proptest! {
        #[test]
        fn any_word_comes_back_from_its_quotes(given in prop::collection::vec("(?s).*", 0..5)) {
            let single = |word: &String| format!("'{}'", word.replace('\'', r"'\''"));
            let text: Vec<String> = given.iter().map(single).collect();
            let bytes: Vec<Vec<u8>> = given.iter().map(|word| word.clone().into()).collect();
            prop_assert_eq!(split(&text.join(" ")), Ok(bytes.clone()));
            let text: Vec<String> = given.iter().map(|word| ansi_quote(word)).collect();
            prop_assert_eq!(split(&text.join(" \\\n ")), Ok(bytes));
        }

        #[test]
        fn no_text_is_a_panic(text in r#"([$'"\\uxUc0-9a{}()|;&^# \n]|(?s:.))*"#) {
            let _ = split(&text);
        }
    }
}
