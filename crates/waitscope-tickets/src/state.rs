//! What the handlers of one event loop share.

use std::sync::Arc;
use std::time::Instant;

use crate::config::{ClientKey, Config, IntakeMode};
use crate::metrics::Metrics;
use crate::provider_client::{ProviderClient, Slots};
use crate::startup::StartError;
use crate::store::{Database, Store};
use crate::trail::IdSource;
use crate::workers::Workers;

/// One event loop's connections, clients and workers. Cheap to clone.
#[derive(Debug, Clone)]
pub struct State(pub(crate) Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) store: Box<dyn Store>,
    pub(crate) provider: ProviderClient,
    /// Only [`IntakeMode::Thread`] has any.
    pub(crate) workers: Option<Workers>,
    /// What clients must send, if anything.
    pub(crate) api_key: Option<ClientKey>,
    pub(crate) process: Arc<Process>,
}

/// What all event loops of the process share.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) database: Database,
    pub(crate) metrics: Metrics,
    pub(crate) ids: IdSource,
    pub(crate) slots: Slots,
    /// The zero of the times in the log.
    pub(crate) started: Instant,
}

impl Process {
    /// Brings the database up to date.
    pub(crate) async fn prepare(config: &Config) -> Result<Self, StartError> {
        Ok(Self {
            database: Database::prepare(&config.database_url).await?,
            metrics: Metrics::new(),
            ids: IdSource::default(),
            slots: Slots::new(config.intake_mode, config.provider_max_concurrency),
            started: Instant::now(),
        })
    }
}

impl State {
    /// A state of its own for a router that is used without [`run`](crate::run). Brings the
    /// database up to date first.
    ///
    /// # Errors
    /// When the database cannot be opened or a client cannot be built.
    pub async fn open(config: &Config) -> Result<Self, StartError> {
        let process = Process::prepare(config).await?;
        Self::connect(config, Arc::new(process)).await
    }

    /// The state of one event loop.
    pub(crate) async fn connect(
        config: &Config,
        process: Arc<Process>,
    ) -> Result<Self, StartError> {
        Ok(Self(Arc::new(Inner {
            store: process.database.connect(config).await?,
            provider: ProviderClient::new(config, &process)?,
            workers: (config.intake_mode == IntakeMode::Thread)
                .then(|| Workers::new(config.threads.get())),
            api_key: config.api_key.clone(),
            process,
        })))
    }

    /// Lets the workers finish and closes the database.
    pub(crate) async fn close(&self) {
        if let Some(workers) = &self.0.workers {
            workers.idle().await;
        }
        self.0.store.close().await;
    }
}
