//! LaminarDB on a checkpoint directory, driven by lines of JSON.
//!
//! Each line of standard input is a request, each line of standard output an answer to one: the request's id with
//! either `ok` or `error`. Requests are carried out in order, except that a checkpoint runs beside what follows it.
//! Logging goes to standard error. The process ends with its standard input.

mod crash;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arrow::json::writer::{JsonArray, WriterBuilder};
use arrow::json::ReaderBuilder;
use laminar_core::state::KeyGroupCount;
use laminar_core::streaming::StreamCheckpointConfig;
use laminar_db::{DeliveryGuarantee, ExecuteResult, LaminarDB};
use serde::Deserialize;
use serde_json::{json, Map, Value};
use tokio::io::{AsyncBufReadExt, BufReader};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Standard output holds whole lines, whichever task writes them.
static OUTPUT: Mutex<()> = Mutex::new(());

#[derive(Deserialize)]
struct Numbered {
    id: u64,
    #[serde(flatten)]
    request: Request,
}

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
enum Request {
    /// Open the database on a directory.
    Open(Settings),
    /// Execute a statement that returns no rows.
    Execute { sql: String },
    /// Start the pipeline: recover what the directory holds, then run.
    Start,
    /// Push one batch into a source; the answer means that the source took it, not that it is durable.
    Push { source: String, rows: Vec<Map<String, Value>> },
    /// Select rows.
    Query { sql: String },
    /// Take a checkpoint; the answer says whether it was committed.
    Checkpoint,
    /// The pipeline's state, the fault that ended it, and how many ordering calls were made.
    State,
    /// Kill the process in place of the store's ordering call that comes after `calls` more of them.
    Crash { calls: u32 },
    /// Shut down in order, and end.
    Stop,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    directory: PathBuf,
    key_groups: u16,
    delivery: DeliveryGuarantee,
    source_idle_timeout_ms: Option<u64>,
    incremental_emit: bool,
}

fn main() -> Result<(), Failure> {
    tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::WARN)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .init();
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        // Planning a query without optimisation takes a deep stack.
        .thread_stack_size(16 * 1024 * 1024)
        .build()?
        .block_on(async { tokio::spawn(serve()).await? })
}

async fn serve() -> Result<(), Failure> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut database = None;
    while let Some(line) = lines.next_line().await? {
        let Numbered { id, request } = serde_json::from_str(&line)?;
        let request = match request {
            Request::Crash { calls } => {
                crash::arm(calls);
                answer(id, Ok(Value::Null));
                continue;
            }
            Request::Open(settings) => {
                answer(id, open(settings).await.map(|opened| database = Some(opened)).map(|()| Value::Null));
                continue;
            }
            request => request,
        };
        let database = Arc::clone(database.as_ref().ok_or("`open` comes before anything that needs a database")?);
        match request {
            Request::Checkpoint => drop(tokio::spawn(async move { answer(id, checkpoint(&database).await) })),
            Request::Stop => {
                answer(id, database.shutdown().await.map(|()| Value::Null).map_err(Failure::from));
                return Ok(());
            }
            request => answer(id, carry_out(&database, request).await),
        }
    }
    Ok(())
}

fn answer(id: u64, result: Result<Value, Failure>) {
    let line = match result {
        Ok(value) => json!({"id": id, "ok": value}),
        Err(failure) => json!({"id": id, "error": failure.to_string()}),
    };
    let _whole = OUTPUT.lock();
    println!("{line}");
}

async fn open(settings: Settings) -> Result<Arc<LaminarDB>, Failure> {
    let mut builder = LaminarDB::builder()
        .storage_dir(settings.directory)
        .key_groups(KeyGroupCount::try_from(settings.key_groups).map_err(|error| error.to_string())?)
        .delivery_guarantee(settings.delivery)
        .incremental_emit(settings.incremental_emit)
        // No interval: a checkpoint is taken when one is asked for, and at no other time.
        .checkpoint(StreamCheckpointConfig::default());
    if let Some(timeout) = settings.source_idle_timeout_ms {
        builder = builder.source_idle_timeout(Duration::from_millis(timeout));
    }
    Ok(builder.build().await?)
}

async fn carry_out(database: &Arc<LaminarDB>, request: Request) -> Result<Value, Failure> {
    match request {
        Request::Execute { sql } => {
            database.execute(&sql).await?;
        }
        Request::Start => database.start().await?,
        Request::Push { source, rows } => {
            let source = database.source_untyped(&source)?;
            let mut decoder = ReaderBuilder::new(source.schema().clone()).build_decoder()?;
            decoder.serialize(&rows)?;
            source.push_arrow(decoder.flush()?.ok_or("no rows to push")?)?;
        }
        Request::Query { sql } => return query(database, &sql).await,
        Request::State => {
            return Ok(json!({
                "state": database.pipeline_state(),
                "fault": database.last_fault(),
                "calls": crash::made(),
            }))
        }
        Request::Crash { .. } | Request::Open(_) | Request::Checkpoint | Request::Stop => {
            unreachable!("not carried out here")
        }
    }
    Ok(Value::Null)
}

async fn query(database: &Arc<LaminarDB>, sql: &str) -> Result<Value, Failure> {
    let mut rows = WriterBuilder::new().with_explicit_nulls(true).build::<_, JsonArray>(Vec::new());
    match database.execute(sql).await? {
        ExecuteResult::Query(mut query) => {
            let mut batches = query.subscribe_raw()?;
            while let Ok(batch) = batches.recv_async().await {
                rows.write(&batch)?;
            }
        }
        ExecuteResult::Metadata(batch) => rows.write(&batch)?,
        ExecuteResult::Ddl(_) | ExecuteResult::RowsAffected(_) => return Err("the statement selects no rows".into()),
    }
    rows.finish()?;
    let text = rows.into_inner();
    Ok(if text.is_empty() { json!([]) } else { serde_json::from_slice(&text)? })
}

async fn checkpoint(database: &Arc<LaminarDB>) -> Result<Value, Failure> {
    let result = database.checkpoint().await?;
    Ok(json!({
        "committed": result.success,
        "checkpoint_id": result.checkpoint_id,
        "epoch": result.epoch,
        "error": result.error,
    }))
}
