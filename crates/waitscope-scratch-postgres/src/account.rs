//! Who runs the server: it refuses to run as root.

use std::fs;

use crate::ServerError;

/// Who takes root's place, in this order.
const NAMES: [&str; 2] = ["postgres", "nobody"];

/// A user and its main group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) user: u32,
    pub(crate) group: u32,
}

/// The account that the server needs; none when we may run it ourselves.
pub(crate) fn for_server() -> Result<Option<Account>, ServerError> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let users =
        fs::read_to_string("/etc/passwd").map_err(ServerError::cannot("read /etc/passwd"))?;
    let found = NAMES.iter().find_map(|name| find(&users, name));
    found.map(Some).ok_or(ServerError::NoAccount)
}

/// A user of passwd(5), whose lines are `name:password:UID:GID:...`.
fn find(users: &str, name: &str) -> Option<Account> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let is_it = fields.next()? == name;
        let user = fields.nth(1)?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        is_it.then_some(Account { user, group })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_their_whole_names() {
        let users = "root:x:0:0:root:/root:/bin/bash\n\nbroken:x:9\n\
            postgres2:x:7:8::/:/bin/sh\npostgres:x:101:104:,,,:/var/lib/postgresql:/bin/bash\n";
        for (name, expected) in [
            ("postgres", Some(Account { user: 101, group: 104 })),
            ("postgres2", Some(Account { user: 7, group: 8 })),
            ("root", Some(Account { user: 0, group: 0 })),
            ("broken", None),
            ("nobody", None),
            ("", None),
        ] {
            assert_eq!(find(users, name), expected, "{name}");
        }
    }
}
