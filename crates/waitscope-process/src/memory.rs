//! The memory of this process, from `/proc/self/status` (proc(5): `VmHWM`).

/// The most memory that this process has had at once (resident), in bytes; `None` where the system
/// does not tell.
#[cfg(target_os = "linux")]
pub fn own_peak_memory_bytes() -> Option<u64> {
    let status = procfs::process::Process::myself().ok()?.status().ok()?;
    status.vmhwm.map(|kib| kib * 1024)
}

/// The most memory that this process has had at once; not known on this system.
#[cfg(not(target_os = "linux"))]
pub fn own_peak_memory_bytes() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_grows_with_what_is_used() {
        let before = own_peak_memory_bytes().unwrap();
        let block = vec![1_u8; 64 << 20];
        assert!(std::hint::black_box(&block).iter().all(|byte| *byte == 1));
        let after = own_peak_memory_bytes().unwrap();
        assert!(after >= before + (48 << 20) || after >= 64 << 20, "{before} {after}");
    }
}
