//! What each fault does to a stream, to a whole answer and before both.

use super::*;
use crate::model::script::{Ending, Event, Part, Piece};

/// A stream of three tokens, one each 10 ms.
fn events() -> Events {
    let event =
        |ms: u64, part, data: &str| Event::new(Duration::from_millis(ms), part, data.to_owned());
    Box::new(
        [
            event(10, Part::Open, r#"{"role":1}"#),
            event(10, Part::Token, r#"{"a":"x"}"#),
            event(20, Part::Token, r#"{"b":"é"}"#),
            event(30, Part::Token, r#"{"c":"z"}"#),
            event(30, Part::Finish, r#"{"choices":[{"delta":{}}],"usage":1}"#),
            event(30, Part::End, "[DONE]"),
        ]
        .into_iter(),
    )
}

fn error(_place: u64) -> (Option<&'static str>, String) {
    (Some("error"), "boom".to_owned())
}

fn pieces(faults: &str) -> (Vec<Piece>, Ending) {
    let faults: Faults = faults.parse().unwrap();
    let script = faults.stream(events(), error);
    (script.pieces.collect(), script.ending)
}

/// What a client would read, with `|` for the end of each event.
fn read(faults: &str) -> String {
    let (pieces, _) = pieces(faults);
    let bytes: Vec<u8> = pieces.into_iter().flat_map(|piece| piece.bytes).collect();
    String::from_utf8(bytes).unwrap().replace("\r\n", "\\").replace("\n\n", "|")
}

const WHOLE: &str = "data: {\"role\":1}|data: {\"a\":\"x\"}|data: {\"b\":\"é\"}|\
                     data: {\"c\":\"z\"}|data: {\"choices\":[{\"delta\":{}}],\"usage\":1}|\
                     data: [DONE]|";
const UP_TO_TWO: &str = "data: {\"role\":1}|data: {\"a\":\"x\"}|data: {\"b\":\"é\"}|";

#[test]
fn streams_are_rewritten() {
    let whole = WHOLE.to_owned();
    let without_done = whole.replace("data: [DONE]|", "");
    for (faults, expected) in [
        ("reset-after=9", whole.clone()),
        ("reset-after=2", UP_TO_TWO.to_owned()),
        ("cut-after=2", UP_TO_TWO.to_owned()),
        ("cut-after=0", "data: {\"role\":1}|".to_owned()),
        ("end-after=2", UP_TO_TWO.to_owned()),
        ("pause-after=1:5s", whole.clone()),
        ("no-done", without_done.clone()),
        ("stay-open", without_done),
        ("open-after-done", whole.clone()),
        ("error-after=2", format!("{UP_TO_TWO}event: error\ndata: boom|")),
        ("error-after=9", format!("{UP_TO_TWO}data: {{\"c\":\"z\"}}|event: error\ndata: boom|")),
        ("bad-json-after=1", whole.replace("{\"b\":\"é\"}", r#"{"id": undefined, "choices": [}"#)),
        ("truncated-json-after=1", whole.replace("{\"b\":\"é\"}", "{\"b\":")),
        ("delta-null", whole.replace("\"delta\":{}", "\"delta\":null")),
        ("no-usage", whole.replace(",\"usage\":1", "")),
        ("no-message-start", whole.replace("data: {\"role\":1}|", "")),
        ("comments", whole.replace("data:", ": ping|data:")),
        (
            "data-ping",
            whole
                .replace("data: {\"a", "data: : keepalive|data: {\"a")
                .replace("data: {\"b", "data: : keepalive|data: {\"b")
                .replace("data: {\"c\":", "data: : keepalive|data: {\"c\":"),
        ),
        ("crlf", whole.replace('|', "\\\\")),
        ("no-space", whole.replace("data: ", "data:")),
        ("no-blank-end", whole.strip_suffix('|').unwrap().to_owned() + "\n"),
        ("no-event-lines,error-after=0", "data: {\"role\":1}|data: boom|".to_owned()),
        ("one-byte", whole.clone()),
        ("split-utf8", whole.clone()),
        ("floats", whole.clone()),
        (
            "crlf, no-space,no-done",
            WHOLE.replace("data: [DONE]|", "").replace("data: ", "data:").replace('|', "\\\\"),
        ),
    ] {
        assert_eq!(read(faults), expected, "{faults}");
    }
    assert!(read("id-ping").starts_with("id: 1\ndata: {\"role\":1}|: ping|id: 2\n"));
}

#[test]
fn bytes_leave_in_odd_pieces() {
    let (singles, _) = pieces("one-byte");
    assert!(singles.iter().all(|piece| piece.bytes.len() == 1));
    assert_eq!(singles.iter().filter(|piece| piece.part == Part::Token).count(), 3);
    let (halves, _) = pieces("split-utf8");
    assert_eq!(halves.len(), 7, "one event has one such character");
    let split = &halves[2..4];
    assert!(split.iter().all(|half| str::from_utf8(&half.bytes).is_err()));
    assert!(split[0].due < split[1].due);
}

#[test]
fn streams_end_as_told() {
    for (faults, ending) in [
        ("crlf", Ending::Complete),
        ("end-after=2", Ending::Complete),
        ("reset-after=2", Ending::Reset),
        ("cut-after=2", Ending::Cut),
        ("stay-open", Ending::Open),
        ("open-after-done", Ending::Open),
    ] {
        assert_eq!(pieces(faults).1, ending, "{faults}");
    }
}

#[test]
fn a_pause_delays_what_follows() {
    let dues = |faults| -> Vec<u128> {
        pieces(faults).0.iter().map(|piece| piece.due.as_millis()).collect()
    };
    assert_eq!(dues("crlf"), [10, 10, 20, 30, 30, 30]);
    assert_eq!(dues("pause-after=2:1s"), [10, 10, 20, 1_030, 1_030, 1_030]);
    assert_eq!(dues("pause-after=0:1s"), [10, 1_010, 1_020, 1_030, 1_030, 1_030]);
    assert_eq!(dues("pause-after=0")[1], 30_010);
}

#[test]
fn whole_answers_are_split_or_spoiled() {
    let whole = |faults: &str| {
        let faults: Faults = faults.parse().unwrap();
        let body = faults.spoil(br#"{"usage":1}"#.to_vec());
        assert!(faults.splits_whole(), "{faults}");
        let script = faults.whole(Duration::ZERO, body);
        let pieces: Vec<Vec<u8>> = script.pieces.map(|piece| piece.bytes).collect();
        (pieces, script.ending)
    };
    let half = br#"{"usa"#.to_vec();
    assert_eq!(whole("reset-after=1"), (vec![half.clone()], Ending::Reset));
    assert_eq!(whole("cut-after=1"), (vec![half.clone()], Ending::Cut));
    let (pieces, ending) = whole("pause-after=1:1s");
    assert_eq!((pieces.len(), &pieces[0], ending), (2, &half, Ending::Complete));
    assert_eq!(whole("one-byte").0.len(), 11);
    let spoiled = |faults: &str| {
        let faults: Faults = faults.parse().unwrap();
        assert!(!faults.splits_whole(), "{faults}");
        String::from_utf8(faults.spoil(br#"{"usage":1}"#.to_vec())).unwrap()
    };
    assert_eq!(spoiled("truncated-json-after=0"), "{\"usa");
    assert_eq!(spoiled("no-usage"), "{}");
    assert!(serde_json::from_str::<serde_json::Value>(&spoiled("bad-json-after=0")).is_err());
    assert_eq!(spoiled("crlf,no-done"), "{\"usage\":1}");
}

#[test]
fn what_comes_before_an_answer() {
    let before = |faults: &str| faults.parse::<Faults>().unwrap().before();
    for (faults, expected) in [
        ("crlf", None),
        ("hang", Some(Before::Hang)),
        ("hang=5s", None),
        ("hang=5s,status=503", Some(Before::Refuse(503, vec![]))),
        ("reset", Some(Before::Reset)),
        ("status=503,reset", Some(Before::Reset)),
        ("status=503", Some(Before::Refuse(503, vec![]))),
        ("retry-after=7", Some(Before::Refuse(429, vec![RetryAfter::Seconds(7)]))),
        (
            "retry-after=malformed, status=529, should-retry=false, retry-after-ms=3",
            Some(Before::Refuse(
                529,
                vec![RetryAfter::Malformed, RetryAfter::ShouldRetry(false), RetryAfter::Ms(3)],
            )),
        ),
        (
            "retry-after=date:2s",
            Some(Before::Refuse(429, vec![RetryAfter::Date(Duration::from_secs(2))])),
        ),
    ] {
        assert_eq!(before(faults), expected, "{faults}");
    }
}

#[test]
fn every_kind_is_read_with_its_example_and_read_back() {
    for kind in kinds() {
        let text = match kind.example {
            "" => kind.name.to_owned(),
            example => format!("{}={example}", kind.name),
        };
        let faults: Faults = text.parse().unwrap();
        assert_eq!(faults.to_string().parse(), Ok(faults.clone()), "{text}");
        let wrong = format!("{}=?", kind.name).parse::<Fault>().unwrap_err().to_string();
        assert!(wrong.contains(kind.name), "{wrong}");
    }
    let mut names: Vec<&str> = kinds().map(|kind| kind.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), kinds().count());
}

#[test]
fn senseless_faults_are_refused() {
    for (text, hint) in [
        ("", "missing"),
        ("crlf,", "missing"),
        ("reset-after", "such as reset-after=5"),
        ("reset-after=-1", "such as reset-after=5"),
        ("status=200", "such as status=503"),
        ("status=600", "such as status=503"),
        ("crlf=1", "takes no value"),
        ("pause-after=1:2", "such as pause-after=5:10s"),
        ("retry-after=soon", "date:DURATION"),
        ("RESET", "unknown fault"),
        ("crlf,no-done,crlf", "`crlf` is given twice"),
        ("cut-after=1,cut-after=2", "`cut-after` is given twice"),
    ] {
        let error = text.parse::<Faults>().unwrap_err().to_string();
        assert!(error.contains(hint), "{text}: {error}");
    }
}

#[test]
fn rules_hit_at_their_rate() {
    let rule: Rule = "crlf,no-done@25%".parse().unwrap();
    assert_eq!((rule.hit(0.249).is_some(), rule.hit(0.25)), (true, None));
    assert_eq!(rule.to_string().parse(), Ok(rule));
    assert!("crlf".parse::<Rule>().unwrap().hit(0.999_999).is_some());
    for rate in ["0%", "101%", "-1%", "NaN%", "2", "", "x%"] {
        let error = format!("crlf@{rate}").parse::<Rule>().unwrap_err();
        assert!(error.to_string().contains("2%"), "{error}");
    }
}

#[test]
fn phases_hold_in_their_time() {
    let phase: Phase = "at 30s for 20s: outage".parse().unwrap();
    let seconds = Duration::from_secs;
    let holds = [29, 30, 49, 50].map(|second| phase.holds(seconds(second)));
    assert_eq!(holds, [false, true, true, false]);
    assert_eq!(phase.effect.mode(), Some(crate::Mode::Outage));
    let open: Phase = "at 1m: status=529,retry-after=date:1s@50%".parse().unwrap();
    assert!(open.holds(seconds(1_000_000)) && !open.holds(seconds(59)));
    assert!(open.effect.faults().is_some() && open.effect.mode().is_none());
    for text in ["", "outage", "at 30s", "at 30: outage", "at 1s for: x", "for 1s: slow"] {
        let error = text.parse::<Phase>().unwrap_err().to_string();
        assert!(error.contains("at 30s for 20s: outage"), "{text}: {error}");
    }
    assert!("at 1s: explode".parse::<Phase>().unwrap_err().to_string().contains("explode"));
}

#[test]
fn of_one_kind_the_first_one_counts() {
    let mut faults: Faults = "status=503,hang=2s".parse().unwrap();
    faults.extend(&"status=500,hang=1s,crlf".parse().unwrap());
    assert_eq!(faults.to_string(), "status=503,hang=2000ms,crlf");
    assert_eq!(faults.delay(), Duration::from_secs(2));
}

#[test]
fn the_largest_number_of_tokens_is_one_that_never_comes() {
    for fault in ["bad-json-after", "truncated-json-after", "cut-after", "error-after"] {
        let (pieces, _) = pieces(&format!("{fault}={}", u32::MAX));
        assert!(pieces.len() >= 5, "{fault}");
    }
}
