//! The counts in the Prometheus (`OpenMetrics` 1.0) text format.

use std::collections::BTreeMap;
use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use crate::model::quota::LimitState;
use crate::summary::Lateness;

/// The content type of [`Snapshot::text`].
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What the provider counted, at one moment. The metrics are made from the same counts as
/// `/admin/stats`, so the two never disagree.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) calls: BTreeMap<&'static str, BTreeMap<u16, u64>>,
    pub(crate) in_flight: u64,
    pub(crate) max_in_flight: u64,
    pub(crate) tokens_in: u64,
    pub(crate) tokens_out: u64,
    /// Every listed model's limits; empty when nothing is limited.
    pub(crate) limits: Vec<(&'static str, Vec<LimitState>)>,
    /// How much later than planned bytes were written.
    pub(crate) lateness: Option<Lateness>,
}

impl Snapshot {
    pub(crate) fn text(self) -> Result<String, fmt::Error> {
        let mut registry = Registry::with_prefix("waitscope_provider");
        registry.register_collector(Box::new(self));
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry)?;
        Ok(text)
    }
}

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let mut calls = encoder.encode_descriptor(
            "calls",
            "Ended calls by task and status; 499 is a client that left",
            None,
            MetricType::Counter,
        )?;
        for (task, by_status) in &self.calls {
            for (status, count) in by_status {
                let labels = [("task", (*task).to_owned()), ("status", status.to_string())];
                calls.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(count, None)?;
            }
        }
        let mut tokens = encoder.encode_descriptor(
            "tokens",
            "Tokens of answered calls by direction",
            None,
            MetricType::Counter,
        )?;
        for (direction, count) in [("in", self.tokens_in), ("out", self.tokens_out)] {
            tokens
                .encode_family(&[("direction", direction)])?
                .encode_counter::<NoLabelSet, _, u64>(&count, None)?;
        }
        gauge(&mut encoder, "in_flight", "Calls in flight", &self.in_flight)?;
        let help = "Most calls in flight at once";
        gauge(&mut encoder, "max_in_flight", help, &self.max_in_flight)?;
        self.encode_lateness(&mut encoder)?;
        self.encode_limits(&mut encoder)
    }
}

impl Snapshot {
    fn encode_lateness(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let Some(Lateness { p50, p99, max }) = self.lateness else { return Ok(()) };
        let mut lateness = encoder.encode_descriptor(
            "lateness_seconds",
            "How much later than planned bytes were written: the simulator's own lateness",
            None,
            MetricType::Gauge,
        )?;
        for (quantile, late) in [("0.5", p50), ("0.99", p99), ("1", max)] {
            lateness.encode_family(&[("quantile", quantile)])?.encode_gauge(&late.as_secs_f64())?;
        }
        Ok(())
    }

    fn encode_limits(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        if self.limits.is_empty() {
            return Ok(());
        }
        let mut remaining = encoder.encode_descriptor(
            "quota_remaining",
            "What is left of each listed model's quota",
            None,
            MetricType::Gauge,
        )?;
        for (model, limits) in &self.limits {
            for limit in limits {
                remaining
                    .encode_family(&[("model", *model), ("limit", limit.name)])?
                    .encode_gauge(&limit.remaining)?;
            }
        }
        Ok(())
    }
}

fn gauge(
    encoder: &mut DescriptorEncoder,
    name: &str,
    help: &str,
    value: &impl EncodeGaugeValue,
) -> fmt::Result {
    encoder.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(value)
}
