//! What a ticket holds in the database while the provider is waited for.

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use waitscope_tickets::IntakeMode;

use crate::fixture::{Behaviour, Database, FakeProvider, Reply, Service, send, settings, ticket};

const TASKS: [&str; 3] = ["classify", "draft_reply", "embed"];

/// A ticket whose calls are answered one after the other, when the test says so.
struct Waiting {
    provider: FakeProvider,
    answers: Vec<CancellationToken>,
    _service: Service,
    post: JoinHandle<Reply>,
}

impl Waiting {
    fn start(mode: IntakeMode, database: &Database) -> Self {
        let provider = FakeProvider::start(std::time::Duration::ZERO);
        let answers = TASKS.map(|task| {
            let told = CancellationToken::new();
            provider.behave(task, Behaviour::After(told.clone()));
            told
        });
        let service = Service::start(settings(mode, database, &provider));
        let post = tokio::spawn(send(service.request("POST", "/v1/tickets").json(&ticket())));
        Self { provider, answers: answers.into(), _service: service, post }
    }

    /// Looks at the database during each call, and gives the answer.
    async fn each_call(self, look: impl AsyncFn(&str)) -> Reply {
        for (number, (task, answer)) in TASKS.into_iter().zip(&self.answers).enumerate() {
            self.provider.calls(number + 1).await;
            look(task).await;
            answer.cancel();
        }
        self.post.await.unwrap()
    }
}

/// The sessions of the service that have a transaction open and do nothing.
const IDLE_IN_TRANSACTION: &str = "SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'waitscope tickets'
    AND state = 'idle in transaction'";

/// Those of them that have written to the table of tickets.
const HOLDING_TICKETS: &str = "SELECT count(*) FROM pg_stat_activity JOIN pg_locks USING (pid)
    WHERE datname = current_database() AND application_name = 'waitscope tickets'
    AND state = 'idle in transaction'
    AND relation = 'tickets'::regclass AND mode = 'RowExclusiveLock' AND granted";

/// How many numbers were given to tickets.
const NUMBERED: &str = "SELECT CASE WHEN is_called THEN last_value - 500000 ELSE 0 END
    FROM tickets_id_seq";

#[tokio::test(flavor = "multi_thread")]
async fn in_thread_mode_postgres_holds_the_transaction_from_the_first_insert() {
    let database = Database::postgres();
    let waiting = Waiting::start(IntakeMode::Thread, &database);
    let reply = waiting.each_call(async |task| {
        assert_eq!(database.number(IDLE_IN_TRANSACTION).await, 1, "{task}");
        assert_eq!(database.number(HOLDING_TICKETS).await, 1, "{task}: the row is inserted");
        assert_eq!(database.number(NUMBERED).await, 1, "{task}: it has its number");
        assert_eq!(database.new_tickets().await, 0, "{task}: nobody else sees it");
    });
    assert_eq!(reply.await.body["ticket_id"], "T-500001");
    assert_eq!(database.number(IDLE_IN_TRANSACTION).await, 0);
    assert_eq!(database.new_tickets().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn in_the_other_modes_postgres_holds_nothing() {
    for mode in [IntakeMode::Async, IntakeMode::Blocking] {
        let database = Database::postgres();
        let waiting = Waiting::start(mode, &database);
        let reply = waiting.each_call(async |task| {
            assert_eq!(database.number(IDLE_IN_TRANSACTION).await, 0, "{mode} {task}");
            assert_eq!(database.number(NUMBERED).await, 0, "{mode} {task}");
        });
        assert_eq!(reply.await.body["ticket_id"], "T-500001", "{mode}");
        assert_eq!(database.new_tickets().await, 1, "{mode}");
    }
}
