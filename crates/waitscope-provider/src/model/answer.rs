//! What the model says: keywords choose team and priority, a template writes the reply.

/// Words of the text that are looked at; the rest does not change the answer.
const WORDS_READ: usize = 2_000;
/// Characters of a message's first line that a reply quotes.
const SUBJECT_CHARACTERS: usize = 60;

/// A help desk's team.
struct Team {
    name: &'static str,
    keywords: &'static [&'static str],
    promise: &'static str,
}

/// In the order in which they win a draw; the last one takes what has no keyword.
const TEAMS: [Team; 5] = [
    Team {
        name: "billing",
        keywords: &[
            "bill",
            "billing",
            "card",
            "charge",
            "charged",
            "discount",
            "invoice",
            "paid",
            "pay",
            "payment",
            "price",
            "receipt",
            "refund",
            "subscription",
            "tax",
            "vat",
        ],
        promise: "They will check the charges on your account and correct what is wrong.",
    },
    Team {
        name: "technical",
        keywords: &[
            "api", "app", "bug", "crash", "crashed", "down", "error", "fail", "failed", "install",
            "outage", "page", "server", "slow", "timeout", "update", "website",
        ],
        promise: "They will look for the fault and tell you how to work around it until then.",
    },
    Team {
        name: "account",
        keywords: &[
            "account", "delete", "email", "locked", "login", "name", "password", "profile",
            "register", "reset", "security", "username",
        ],
        promise: "They will make sure that you, and only you, can use your account.",
    },
    Team {
        name: "shipping",
        keywords: &[
            "address",
            "arrive",
            "arrived",
            "courier",
            "damaged",
            "deliver",
            "delivered",
            "delivery",
            "order",
            "package",
            "parcel",
            "return",
            "shipped",
            "shipping",
            "tracking",
        ],
        promise: "They will find out where your parcel is and send you the next date.",
    },
    Team {
        name: "general",
        keywords: &[],
        promise: "They will read it with care and answer your question.",
    },
];

const URGENT: [&str; 10] = [
    "asap",
    "critical",
    "down",
    "emergency",
    "hacked",
    "immediately",
    "outage",
    "security",
    "stolen",
    "urgent",
];
const CALM: [&str; 9] = [
    "curious",
    "feature",
    "feedback",
    "question",
    "suggestion",
    "thank",
    "whenever",
    "wish",
    "wondering",
];

/// The JSON that classifies `text`: `{"team": ..., "priority": 1 (urgent) to 3 (calm)}`.
pub fn classification(text: &str) -> String {
    let reading = Reading::of(text);
    serde_json::json!({"team": reading.team().name, "priority": reading.priority()}).to_string()
}

/// The reply to `text`.
pub fn reply(text: &str) -> String {
    let reading = Reading::of(text);
    let Team { name, promise, .. } = reading.team();
    let pace = match reading.priority() {
        1 => "Your message is marked as urgent, and they are looking at it now.",
        2 => "They will answer within one working day.",
        _ => "They will answer within three working days.",
    };
    let subject = subject(text);
    format!(
        "Hello,\n\nthank you for your message{subject}. I have passed it on to our {name} team. \
         {promise} {pace} You need not do anything until then — we will write to you 🙂\n\n\
         Kind regards\nCustomer support"
    )
}

/// How often the keywords of each kind, or their plurals, are in a text.
#[derive(Default)]
struct Reading {
    teams: [usize; TEAMS.len()],
    urgent: usize,
    calm: usize,
}

impl Reading {
    /// Reads a text without keeping any of it: this is on the path of every call.
    fn of(text: &str) -> Self {
        let mut reading = Self::default();
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        for word in words.take(WORDS_READ) {
            // Longer ones are no keywords, nor their plurals.
            let Some(word) = Lowercase::of(word) else { continue };
            let (word, singular) = (word.as_bytes(), word.singular());
            let is_hit = |keyword: &&str| {
                let keyword = keyword.as_bytes();
                keyword == word || keyword == singular
            };
            let hits = |keywords: &[&str]| usize::from(keywords.iter().any(is_hit));
            for (count, team) in reading.teams.iter_mut().zip(&TEAMS) {
                *count += hits(team.keywords);
            }
            reading.urgent += hits(&URGENT);
            reading.calm += hits(&CALM);
        }
        reading
    }

    fn team(&self) -> &'static Team {
        let mut best = TEAMS.len() - 1;
        for (team, hits) in self.teams.iter().enumerate() {
            if *hits > 0 && (best == TEAMS.len() - 1 || *hits > self.teams[best]) {
                best = team;
            }
        }
        &TEAMS[best]
    }

    fn priority(&self) -> u8 {
        match (self.urgent, self.calm) {
            (1.., _) => 1,
            (0, 1..) => 3,
            (0, 0) => 2,
        }
    }
}

/// A short word of ASCII letters and digits in lower case.
struct Lowercase {
    bytes: [u8; Self::MAX],
    length: usize,
}

impl Lowercase {
    /// One more than the longest keyword, for its plural.
    const MAX: usize = 13;

    fn of(word: &str) -> Option<Self> {
        if word.len() > Self::MAX || !word.is_ascii() {
            return None;
        }
        let mut bytes = [0; Self::MAX];
        for (lower, byte) in bytes.iter_mut().zip(word.bytes()) {
            *lower = byte.to_ascii_lowercase();
        }
        Some(Self { bytes, length: word.len() })
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn singular(&self) -> &[u8] {
        self.as_bytes().strip_suffix(b"s").unwrap_or(self.as_bytes())
    }
}

/// The first line that says something, as ` about "..."`.
fn subject(text: &str) -> String {
    let Some(line) = text.lines().map(str::trim).find(|line| !line.is_empty()) else {
        return String::new();
    };
    let line = match line.split_once(':') {
        Some((label, rest)) if label.eq_ignore_ascii_case("subject") => rest.trim(),
        _ => line,
    };
    let quoted: String = line.chars().take(SUBJECT_CHARACTERS).collect();
    format!(" about \"{}\"", quoted.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_choose_team_and_priority() {
        for (text, team, priority) in [
            ("I was charged twice, please refund one of the payments", "billing", 2),
            ("URGENT: your API is down!", "technical", 1),
            ("I forgot my password and my account is locked.", "account", 2),
            ("Where is my parcel? The tracking says nothing. Just wondering.", "shipping", 3),
            ("Hello", "general", 2),
            ("", "general", 2),
            ("invoice error", "billing", 2),
            ("invoice error errors", "technical", 2),
            ("A question: is this urgent?", "general", 1),
            ("présenté à 漢字 🎉", "general", 2),
        ] {
            let expected = format!(r#"{{"team":"{team}","priority":{priority}}}"#);
            assert_eq!(classification(text), expected, "{text}");
        }
    }

    #[test]
    fn every_keyword_is_found_in_any_case_and_as_a_plural() {
        for team in &TEAMS {
            for keyword in team.keywords {
                assert!(keyword.len() < Lowercase::MAX, "{keyword}");
                for text in [(*keyword).to_owned(), format!("{}s", keyword.to_uppercase())] {
                    assert_eq!(Reading::of(&text).team().name, team.name, "{text}");
                }
            }
        }
        for (keywords, priority) in [(&URGENT[..], 1), (&CALM[..], 3)] {
            for keyword in keywords {
                assert_eq!(Reading::of(keyword).priority(), priority, "{keyword}");
            }
        }
    }

    #[test]
    fn replies_quote_the_subject_and_name_the_team() {
        for (text, subject) in [
            ("Subject: Wrong invoice\n\nIt is wrong.", "message about \"Wrong invoice\"."),
            ("\n  My invoice  \nIt is wrong.", "message about \"My invoice\"."),
            ("an invoice", "message about \"an invoice\"."),
        ] {
            let reply = reply(text);
            assert!(reply.contains(subject) && reply.contains("our billing team"), "{reply}");
        }
        let long = reply(&"漢".repeat(1_000));
        assert_eq!(long.matches('漢').count(), SUBJECT_CHARACTERS);
        assert!(reply("").contains("your message. I"));
    }
}
