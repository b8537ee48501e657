//! Processes: who listens on a port, how much CPU they use, the limits and the memory of this one,
//! the machine, and child servers that surely end.
//!
//! Linux is the tested system; what needs `/proc` sits in one small module each and answers
//! "not known" elsewhere or when permission is missing.

mod child;
mod cpu;
mod family;
mod limits;
mod listeners;
mod machine;
mod memory;

pub use child::{ChildError, ServerChild};
pub use cpu::{CpuMeter, own_cpu_seconds};
pub use family::with_descendants;
pub use limits::{local_ports, open_files_limit, raise_open_files};
pub use listeners::listeners;
pub use machine::{MachineFacts, machine};
pub use memory::own_peak_memory_bytes;
