//! Randomness from the system, for names, passwords and ports.

use std::fs::File;
use std::io::Read;

use crate::ServerError;

/// Bytes that nobody can guess.
pub(crate) fn bytes<const COUNT: usize>() -> Result<[u8; COUNT], ServerError> {
    let mut bytes = [0; COUNT];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .map_err(ServerError::cannot("read /dev/urandom"))?;
    Ok(bytes)
}

/// A word of 32 letters and digits.
pub(crate) fn word() -> Result<String, ServerError> {
    Ok(format!("{:032x}", u128::from_be_bytes(bytes()?)))
}
