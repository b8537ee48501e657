//! Facts about the machine that a run was measured on.

use crate::open_files_limit;

/// What the system says about itself; what it does not say is `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineFacts {
    /// Operating system and kernel release.
    pub os: String,
    /// Processor architecture.
    pub arch: String,
    /// Processor model.
    pub cpu_model: Option<String>,
    /// Processors that this process may run on.
    pub cpus: usize,
    /// Physical memory.
    pub memory_bytes: Option<u64>,
    /// Files that this process may hold open.
    pub open_files_limit: Option<u64>,
}

/// Reads the facts of this machine.
pub fn machine() -> MachineFacts {
    let uname = rustix::system::uname();
    MachineFacts {
        os: format!("{} {}", uname.sysname().to_string_lossy(), uname.release().to_string_lossy()),
        arch: std::env::consts::ARCH.to_owned(),
        cpu_model: cpu_model(),
        cpus: std::thread::available_parallelism().map_or(1, usize::from),
        memory_bytes: memory_bytes(),
        open_files_limit: open_files_limit(),
    }
}

#[cfg(target_os = "linux")]
fn cpu_model() -> Option<String> {
    use procfs::Current;
    procfs::CpuInfo::current().ok()?.model_name(0).map(str::to_owned)
}

#[cfg(not(target_os = "linux"))]
fn cpu_model() -> Option<String> {
    None
}

#[cfg(target_os = "linux")]
fn memory_bytes() -> Option<u64> {
    use procfs::Current;
    Some(procfs::Meminfo::current().ok()?.mem_total)
}

#[cfg(not(target_os = "linux"))]
fn memory_bytes() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_has_a_processor_and_a_name() {
        let facts = machine();
        assert!(facts.cpus >= 1);
        assert!(facts.os.len() > 3, "{}", facts.os);
        assert!(facts.memory_bytes.is_some_and(|bytes| bytes > 1 << 20));
    }
}
