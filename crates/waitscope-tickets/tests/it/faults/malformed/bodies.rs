//! Bodies that are no ticket, by the kind of what is wrong with them.

use serde_json::{Value, json};

use super::requests::Random;
use crate::fixture::ticket;

/// Makes the bytes of a body.
pub(super) type Make = fn(&mut Random) -> Vec<u8>;

/// Every kind, each of which is refused as an invalid request.
pub(super) const BODIES: [(&str, Make); 17] = [
    ("JSON that is cut", cut),
    ("a field of another type", wrong_type),
    ("a field that is missing", missing),
    ("a field that nobody knows", unknown),
    ("a text of another length", wrong_length),
    ("a name that nobody knows", wrong_name),
    ("Latin-1", latin_1),
    ("UTF-16", utf_16),
    ("broken UTF-8", broken_utf_8),
    ("deep nesting", deep),
    ("NUL", nul),
    ("lone surrogates", lone_surrogate),
    ("huge numbers", huge_number),
    ("a field twice, wrong the last time", twice),
    ("more after the end", more),
    ("something other than JSON", not_json),
    ("random bytes", random_bytes),
];

const FIELDS: [&str; 4] = ["customer_id", "subject", "body", "channel"];

/// A ticket whose subject is to be replaced by bytes.
fn with_subject(subject: &[u8]) -> Vec<u8> {
    let text = ticket().to_string();
    let (before, after) = text.split_once("Charged twice").unwrap();
    [before.as_bytes(), subject, after.as_bytes()].concat()
}

fn with(field: &str, value: Value) -> Vec<u8> {
    let mut ticket = ticket();
    ticket[field] = value;
    ticket.to_string().into()
}

fn cut(random: &mut Random) -> Vec<u8> {
    let mut whole = ticket().to_string().into_bytes();
    whole.truncate(random.below(whole.len()));
    whole
}

fn wrong_type(random: &mut Random) -> Vec<u8> {
    let values = [
        json!(7),
        json!(-1.5),
        json!(true),
        json!(null),
        json!([]),
        json!({}),
        json!(["email"]),
        json!({"subject": "x"}),
    ];
    with(random.one_of(&FIELDS), random.one_of(&values))
}

fn missing(random: &mut Random) -> Vec<u8> {
    let mut ticket = ticket();
    ticket.as_object_mut().unwrap().remove(random.one_of(&FIELDS));
    ticket.to_string().into()
}

fn unknown(random: &mut Random) -> Vec<u8> {
    let names = ["", "id", "ticket_id", "Subject", "subject ", "__proto__", "customer-id"];
    let long = "x".repeat(1 + random.below(5000));
    let name = random.one_of(&names);
    with(if random.below(2) == 0 { &long } else { name }, json!("x"))
}

fn wrong_length(random: &mut Random) -> Vec<u8> {
    let character = random.one_of(&["x", "ü", "\u{1f600}", " "]);
    match random.below(3) {
        0 => with("subject", json!("")),
        1 => with("subject", json!(character.repeat(121 + random.below(500)))),
        _ => with("body", json!(character.repeat(5001 + random.below(5000)))),
    }
}

fn wrong_name(random: &mut Random) -> Vec<u8> {
    let customers =
        ["", "C-", "C-1", "C-123456", "c-0001", " C-0001", "C-0001\n", "C-٠٠٠١", "' OR 1=1 --"];
    let channels = ["", "fax", "Email", "email ", "email\u{0}"];
    match random.below(2) {
        0 => with("customer_id", json!(random.one_of(&customers))),
        _ => with("channel", json!(random.one_of(&channels))),
    }
}

fn latin_1(random: &mut Random) -> Vec<u8> {
    let letter = 0xC0 + u8::try_from(random.below(0x40)).unwrap();
    with_subject(&[b'a', letter, b'b'])
}

fn utf_16(random: &mut Random) -> Vec<u8> {
    let units: Vec<u16> =
        "\u{feff}".encode_utf16().chain(ticket().to_string().encode_utf16()).collect();
    let swap = random.below(2) == 0;
    units
        .iter()
        .flat_map(|unit| if swap { unit.to_be_bytes() } else { unit.to_le_bytes() })
        .collect()
}

/// A lone byte of a sequence, too long a form, a surrogate, beyond the last character, cut short.
fn broken_utf_8(random: &mut Random) -> Vec<u8> {
    let sequences: [&[u8]; 6] =
        [b"\x80", b"\xC0\xAF", b"\xED\xA0\x80", b"\xF5\x80\x80\x80", b"\xE2\x82", b"\xFF\xFE"];
    let before = "x".repeat(random.below(50));
    with_subject(&[before.as_bytes(), random.one_of(&sequences), b"x".as_slice()].concat())
}

fn deep(random: &mut Random) -> Vec<u8> {
    let depth = 200 + random.below(8_000);
    let (open, close) = random.one_of(&[("[", "]"), ("{\"a\":", "}")]);
    let closes = if random.below(2) == 0 { close.repeat(depth) } else { String::new() };
    let nested = format!("{}1{closes}", open.repeat(depth));
    match random.below(2) {
        0 => nested.into(),
        _ => format!(r#"{{"subject": {nested}}}"#).into(),
    }
}

fn nul(random: &mut Random) -> Vec<u8> {
    let field = random.one_of(&["subject", "body"]);
    match random.below(4) {
        0 => with(field, json!("a\u{0}b")),
        1 => with_subject(b"a\0b"),
        2 => [ticket().to_string().as_bytes(), b"\0"].concat(),
        _ => vec![0; 1 + random.below(500)],
    }
}

fn lone_surrogate(random: &mut Random) -> Vec<u8> {
    let escapes = [r"\ud800", r"\udfff", r"\udc00\ud800", r"\ud83d\u0041", r"\ud83dx", r"\uD800\n"];
    with_subject(random.one_of(&escapes).as_bytes())
}

fn huge_number(random: &mut Random) -> Vec<u8> {
    let digits = "9".repeat(1 + random.below(20_000));
    let numbers = [
        digits.clone(),
        format!("-{digits}"),
        format!("0.{digits}"),
        "1e999999".into(),
        format!("1e-{digits}"),
        "-1e400".into(),
    ];
    let text = ticket().to_string();
    text.replace("\"Charged twice\"", &random.one_of(&numbers)).into()
}

fn twice(random: &mut Random) -> Vec<u8> {
    let text = ticket().to_string();
    let field = random.one_of(&FIELDS);
    let value = random.one_of(&["7", "null", "[]", "{\"subject\": 1}"]);
    format!(r#"{}, "{field}": {value}}}"#, text.trim_end_matches('}')).into()
}

fn more(random: &mut Random) -> Vec<u8> {
    let after = random.one_of(&["}", "{}", "x", ",", "\u{feff}", "//", "null"]);
    format!("{}{after}", ticket()).into()
}

fn not_json(random: &mut Random) -> Vec<u8> {
    let text = ticket().to_string();
    match random.below(8) {
        0 => text.replace('"', "'").into(),
        1 => text.replace("\"Charged twice\"", "NaN").into(),
        2 => text.replace('{', "{ /* a ticket */").into(),
        3 => text.replace('}', ",}").into(),
        4 => text.replace("\"subject\"", "subject").into(),
        5 => format!("\u{feff}{text}").into(),
        6 => b"customer_id=C-0001&subject=x&body=x&channel=email".to_vec(),
        _ => b"<ticket><subject>x</subject></ticket>".to_vec(),
    }
}

/// None of them begins as an object does.
fn random_bytes(random: &mut Random) -> Vec<u8> {
    let bytes = (0..random.below(2000)).map(|_| u8::try_from(random.below(256)).unwrap());
    std::iter::once(b'!').chain(bytes).collect()
}
