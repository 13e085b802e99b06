//! Deliveries as they are made: many at once, each with its own end.
//!
//! They have a queue of their own beside `jobs`: jobs run one after another and share one list of delays,
//! while a receiver that hangs must not keep the others waiting. A delivery is claimed under a lock
//! that ends, so it is made at least once though who claimed it dies.

use std::sync::Arc;
use std::time::Duration;

use platform::database::notifications::{hear, listen};
use platform::egress::client::{Receipt, Secrets, WebhookRequest};
use platform::{App, Error, Result};
use telemetry::{Kind, Place};
use tokio::sync::{Notify, Semaphore};

use super::queue::{self, ClaimedDelivery, DeliveryOutcome};
use super::store;
use super::surface::{DeliveryStatus, DeliveryTrigger, Surface, WebhookStatus, WebhookTrigger};

/// Deliveries of this process at once.
const AT_ONCE: usize = 64;
/// Time makes retries due without a notification.
const POLL: Duration = Duration::from_secs(1);

/// Delivers until shutdown; what is on its way then ends by itself, in 10 seconds at most.
pub async fn work(app: App) {
    let (room, freed) = (Arc::new(Semaphore::new(AT_ONCE)), Arc::new(Notify::new()));
    let mut listener = None;
    while !app.shutdown().is_cancelled() {
        let claimed = match claim(&app, room.available_permits()).await {
            Ok(claimed) => claimed,
            Err(error) => {
                tracing::warn!(error = %error, "the webhook queue cannot be read");
                Vec::new()
            }
        };
        let idle = claimed.is_empty();
        for delivery in claimed {
            // As many were claimed as there was room for, and nobody else takes any.
            let Ok(place) = Arc::clone(&room).try_acquire_owned() else { break };
            let (app, freed) = (app.clone(), Arc::clone(&freed));
            app.clone().tasks().spawn(async move {
                deliver(&app, delivery).await;
                drop(place);
                freed.notify_one();
            });
        }
        if !idle {
            continue;
        }
        if listener.is_none() {
            listener = listen(app.pool(), "webhook_deliveries").await;
        }
        tokio::select! {
            () = app.shutdown().cancelled() => break,
            () = tokio::time::sleep(POLL) => {}
            () = freed.notified() => {}
            heard = hear(listener.as_mut()) => if heard.is_err() { listener = None },
        }
    }
}

/// Makes every delivery that is due now, and says how many attempts that took.
pub async fn run_due(app: &App) -> Result<usize> {
    let mut count = 0;
    loop {
        let claimed = claim(app, AT_ONCE).await?;
        if claimed.is_empty() {
            return Ok(count);
        }
        count += claimed.len();
        futures::future::join_all(claimed.into_iter().map(|delivery| deliver(app, delivery))).await;
    }
}

async fn claim(app: &App, most: usize) -> Result<Vec<ClaimedDelivery>> {
    if most == 0 {
        return Ok(Vec::new());
    }
    queue::claim(app, i64::try_from(most).unwrap_or(i64::MAX)).await
}

async fn deliver(app: &App, delivery: ClaimedDelivery) {
    if let Err(error) = attempt(app, &delivery).await {
        let error = error.with_sources();
        tracing::warn!(webhook.id = %delivery.webhook_id, delivery.id = %delivery.delivery_id, error, "not delivered");
    }
}

/// No connection is held while the receiver thinks.
async fn attempt(app: &App, claimed: &ClaimedDelivery) -> Result<()> {
    let surface = Surface::parse(&claimed.surface).ok_or_else(|| Error::internal("an unknown surface"))?;
    let mut conn = app.pool().acquire().await?;
    let secrets = store::secrets(app, &mut conn, &claimed.webhook_id).await?;
    drop(conn);
    // Deleted since.
    let Some(secrets) = secrets else { return Ok(()) };
    let recorded = Place::of(claimed.traceparent.as_deref(), claimed.tracestate.as_deref());
    let mut span = app.tracer().follow("webhook", Kind::Client, &recorded);
    let receipt = app.egress().send(webhook_request(app, claimed, &secrets, span.place().clone())).await;
    span.tell("sluice.event.type", claimed.event_type.clone());
    span.tell("http.request.resend_count", i64::from(claimed.attempts) - 1);
    match receipt.status {
        Some(status) => span.tell("http.response.status_code", i64::from(status)),
        None => span.failed("unreachable"),
    }
    drop(span);
    settle(app, claimed, surface, &receipt).await
}

fn webhook_request<'a>(
    app: &App,
    claimed: &'a ClaimedDelivery,
    secrets: &'a Secrets,
    place: Place,
) -> WebhookRequest<'a> {
    WebhookRequest {
        url: &claimed.url,
        secrets,
        event_id: &claimed.event_id,
        event_type: &claimed.event_type,
        body: claimed.body.clone(),
        attempt: claimed.attempts,
        now: app.now(),
        place,
    }
}

/// The webhook's row first, as everybody who writes both does.
async fn settle(app: &App, claimed: &ClaimedDelivery, surface: Surface, receipt: &Receipt) -> Result<()> {
    let now = app.now();
    let ended = ended(claimed, surface, receipt, now)?;
    let gives_up = ended.status == DeliveryStatus::Failed && surface.fails_whole();
    let status = gives_up.then(|| WebhookStatus::Active.after(WebhookTrigger::RetriesExhausted));
    let mut tx = app.pool().begin().await?;
    store::attempted(&mut tx, &claimed.webhook_id, (receipt.accepted(), receipt.status), status, now).await?;
    if !queue::settle(&mut tx, claimed, &ended, now).await? {
        return Ok(());
    }
    if gives_up {
        queue::give_up(&mut tx, &claimed.webhook_id).await?;
        tracing::warn!(webhook.id = %claimed.webhook_id, "a webhook has failed: its retries are used up");
    }
    tx.commit().await?;
    Ok(())
}

fn ended(
    claimed: &ClaimedDelivery,
    surface: Surface,
    receipt: &Receipt,
    now: contract::Timestamp,
) -> Result<DeliveryOutcome> {
    let wait = surface.wait_after(claimed.attempts);
    let trigger = match (receipt.accepted(), wait) {
        (true, _) => Some(DeliveryTrigger::Accepted),
        (false, None) => Some(DeliveryTrigger::Exhausted),
        (false, Some(_)) => None,
    };
    let pending = DeliveryStatus::Pending;
    let status = trigger.map_or(Some(pending), |trigger| pending.after(trigger));
    Ok(DeliveryOutcome {
        status: status.ok_or_else(|| Error::internal("a delivery cannot go there"))?,
        next_attempt_at: wait.filter(|_| !receipt.accepted()).map(|wait| now + wait),
        status_code: receipt.status,
        error: receipt.error,
    })
}
