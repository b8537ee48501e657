//! Latencies of real calls.
//!
//! Source: a public data set (CC0 1.0) of 300 calls to a hosted chat model and an embedding model,
//! 100 per task, one at a time, recorded on 2026-10-10. Each table holds its task's quantiles at
//! 0 %, 5 %, ... 100 % in milliseconds to the full answer, interpolated linearly between the
//! sorted times.

use super::Task;

/// A task's 21 quantiles in milliseconds.
pub const fn quantiles_ms(task: Task) -> &'static [f64; 21] {
    match task {
        Task::Classify => &CLASSIFY_MS,
        Task::DraftReply => &DRAFT_REPLY_MS,
        Task::Embed => &EMBED_MS,
    }
}

const CLASSIFY_MS: [f64; 21] = [
    633.7, 692.38, 741.59, 777.62, 798.04, 816.6, 836.61, 855.73, 892.68, 903.17, 912.8, 931.04,
    937.62, 951.87, 993.1, 1_016.08, 1_074.7, 1_098.38, 1_179.11, 1_403.58, 2_142.7,
];

const DRAFT_REPLY_MS: [f64; 21] = [
    761.7, 848.32, 898.09, 934.29, 947.36, 981.55, 1_014.12, 1_025.62, 1_048.96, 1_084.65,
    1_097.25, 1_119.45, 1_127.74, 1_147.94, 1_171.68, 1_228.8, 1_273.82, 1_326.05, 1_463.07,
    1_516.85, 2_172.3,
];

const EMBED_MS: [f64; 21] = [
    103.7, 120.61, 127.39, 131.26, 135.1, 139.45, 142.68, 153.46, 163.26, 169.54, 197.8, 206.89,
    215.6, 221.52, 243.15, 265.2, 272.68, 281.42, 287.87, 300.64, 340.8,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_rise_and_have_the_recorded_medians() {
        for (task, median_seconds) in
            [(Task::Classify, 0.91), (Task::DraftReply, 1.10), (Task::Embed, 0.20)]
        {
            let table = quantiles_ms(task);
            assert!(table.is_sorted());
            assert!((table[10] / 1_000.0 - median_seconds).abs() < 0.005, "{}", table[10]);
        }
    }
}
