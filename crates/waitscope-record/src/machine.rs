//! The machine of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The machine that a run was measured on: figures of two machines do not compare.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// Operating system and kernel release.
    pub os: String,
    /// Processor architecture.
    pub arch: String,
    /// Processor model, where the system tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_model: Option<String>,
    /// Processors this process may run on.
    pub cpus: usize,
    /// Physical memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Files this process may hold open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_files_limit: Option<u64>,
}
