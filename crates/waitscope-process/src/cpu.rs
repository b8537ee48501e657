//! CPU time of processes, from `/proc/PID/stat` (proc(5): `utime` and `stime`, in clock ticks).

use rustix::time::{ClockId, clock_gettime};

/// CPU time that this process has used, all threads, in seconds.
pub fn own_cpu_seconds() -> f64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
}

/// Measures what some processes use from its start on. The resolution is one clock tick (10 ms).
#[derive(Debug, Clone)]
pub struct CpuMeter {
    /// Each process with what it had used at the start.
    processes: Vec<(i32, f64)>,
}

impl CpuMeter {
    /// Starts to measure. Processes that cannot be read are left out; `None` when none is left.
    pub fn start(pids: &[i32]) -> Option<Self> {
        let processes: Vec<(i32, f64)> =
            pids.iter().filter_map(|pid| Some((*pid, cpu_seconds(*pid)?))).collect();
        (!processes.is_empty()).then_some(Self { processes })
    }

    /// CPU seconds used since the start, over all processes; `None` when one of them has ended,
    /// since what it used is lost then.
    pub fn seconds(&self) -> Option<f64> {
        self.processes.iter().map(|(pid, before)| Some(cpu_seconds(*pid)? - before)).sum()
    }
}

#[cfg(target_os = "linux")]
fn cpu_seconds(pid: i32) -> Option<f64> {
    let stat = procfs::process::Process::new(pid).ok()?.stat().ok()?;
    Some((stat.utime + stat.stime) as f64 / procfs::ticks_per_second() as f64)
}

#[cfg(not(target_os = "linux"))]
fn cpu_seconds(_pid: i32) -> Option<f64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own_pid() -> i32 {
        i32::try_from(std::process::id()).unwrap()
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test waits on purpose")]
    fn work_shows_and_waiting_does_not() {
        let meter = CpuMeter::start(&[own_pid()]).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(200));
        let waited = meter.seconds().unwrap();
        assert!(waited <= 0.05, "{waited}");
        let meter = CpuMeter::start(&[own_pid()]).unwrap();
        let before = own_cpu_seconds();
        while own_cpu_seconds() - before < 0.1 {
            std::hint::black_box((0..1000).sum::<u64>());
        }
        // Two clocks of different resolution: one tick of slack on either side.
        let worked = meter.seconds().unwrap();
        assert!(worked >= 0.08, "{worked}");
    }

    #[test]
    fn a_process_that_is_not_there_is_not_measured() {
        assert!(CpuMeter::start(&[i32::MAX]).is_none());
        assert!(CpuMeter::start(&[]).is_none());
    }
}
