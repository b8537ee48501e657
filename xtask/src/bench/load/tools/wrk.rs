//! wrk. It knows no number of requests: where one on each connection is wanted, it gets the time in
//! which a second one cannot be answered.

use std::process::Command;

use anyhow::Context;

use super::{Said, Tool};

const ONCE_SECONDS: u32 = 9;

pub(super) const TOOL: Tool = Tool {
    name: "wrk",
    command: |_, asked| {
        let seconds = asked.seconds.unwrap_or(ONCE_SECONDS);
        let mut command = Command::new("wrk");
        command.args(["-t", "1", "-c", &asked.connections.to_string(), "--timeout", "60s"]);
        command.args(["-d", &format!("{seconds}s"), "--latency", &asked.url]);
        Ok(command)
    },
    read,
};

fn read(text: &str) -> anyhow::Result<Said> {
    let line = |start: &str| text.lines().find_map(|line| line.trim().strip_prefix(start));
    let total = text.lines().find_map(|line| line.trim().split_once(" requests in "));
    let (requests, _) = total.context("no total")?;
    let latency = line("Latency ").context("no latency")?;
    let slowest = latency.split_whitespace().nth(2).context("no slowest")?;
    let errors = line("Socket errors: ").map_or(0.0, |errors| {
        errors.split(", ").filter_map(|e| e.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    });
    let refused = line("Non-2xx or 3xx responses: ").map_or(Ok(0.0), str::parse::<f64>)?;
    let requests = requests.parse::<f64>()? - refused;
    Ok(Said { requests, errors: errors + refused, slowest_ms: ms(slowest)? })
}

/// A time as it writes them, such as `1.05ms`, in ms.
fn ms(text: &str) -> anyhow::Result<f64> {
    let units = [("us", 1e-3), ("ms", 1.0), ("s", 1e3), ("m", 6e4), ("h", 3.6e6)];
    let (number, factor) = units
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))
        .with_context(|| format!("no unit in {text}"))?;
    Ok(number.parse::<f64>()? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_summary_is_read() {
        let text = "Running 5s test @ http://127.0.0.1:8000/\n  1 threads and 64 connections\n  \
                    Thread Stats   Avg      Stdev     Max   +/- Stdev\n    \
                    Latency     1.10ms  200.00us   9.50ms   90.00%\n    \
                    Req/Sec    60.00k     1.00k   61.00k    70.00%\n  \
                    300000 requests in 5.00s, 90.00MB read\n  \
                    Socket errors: connect 1, read 2, write 0, timeout 3\n  \
                    Non-2xx or 3xx responses: 10\n\
                    Requests/sec:  60000.00\n";
        let expected = Said { requests: 299_990.0, errors: 16.0, slowest_ms: 9.5 };
        assert_eq!(read(text).unwrap(), expected);
        assert!(read("unable to connect").is_err());
        assert!((ms("5.31s").unwrap() - 5_310.0).abs() < 1e-9);
        assert!((ms("250.00us").unwrap() - 0.25).abs() < 1e-9);
    }
}
