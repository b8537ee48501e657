//! What holds for any bytes from outside, one function for each fuzz target.
//!
//! There is a folder for each crate whose tests run the same functions over the committed inputs in
//! `seeds/`.

pub mod load;
pub mod provider;
