//! Everything that goes wrong, in rounds: each once, in an order that the seed gives, then again.

use nix::sys::signal::Signal;

use tests::runtime::ControlPlane;

use super::Chaos;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    WorkerStopped,
    WorkerKilled,
    ControlPlaneKilled,
    DatabaseCrashed,
    DatabaseRestarted,
    SessionsCut,
    /// Whoever wants a task waits, until the pool is empty.
    TasksLocked,
}

impl Fault {
    pub const ALL: [Self; 7] = [
        Self::WorkerStopped,
        Self::WorkerKilled,
        Self::ControlPlaneKilled,
        Self::DatabaseCrashed,
        Self::DatabaseRestarted,
        Self::SessionsCut,
        Self::TasksLocked,
    ];

    /// Nobody can sweep meanwhile.
    const fn is_outage(self) -> bool {
        !matches!(self, Self::WorkerStopped | Self::WorkerKilled)
    }
}

impl Chaos {
    pub async fn something_happens(&mut self) {
        let fault = self.next();
        let since = self.began.elapsed().as_secs_f64();
        self.bring_about(fault).await;
        *self.done.entry(fault).or_default() += 1;
        if fault.is_outage() {
            self.outages.push((since, self.began.elapsed().as_secs_f64()));
        }
        self.rest(500).await;
    }

    fn next(&mut self) -> Fault {
        if self.deck.is_empty() {
            let mut left = Fault::ALL.to_vec();
            while !left.is_empty() {
                let one = self.dice(left.len());
                self.deck.push(left.swap_remove(one));
            }
        }
        self.deck.pop().unwrap()
    }

    async fn bring_about(&mut self, fault: Fault) {
        let one = self.dice(self.workers.len());
        match fault {
            Fault::WorkerStopped => {
                // Past the lease: four seconds of ours are forty of the database's.
                self.workers[one].signal(Signal::SIGSTOP);
                self.rest(4_000).await;
                self.workers[one].signal(Signal::SIGCONT);
            }
            Fault::WorkerKilled => {
                self.workers[one].kill().await;
                self.workers[one] = self.worker();
            }
            Fault::ControlPlaneKilled => {
                self.control.kill().await;
                self.control = ControlPlane::start(&self.database).await;
                self.wire.lead_to(self.control.http);
            }
            Fault::DatabaseCrashed => self.database.crash().await,
            Fault::DatabaseRestarted => self.database.restart().await,
            Fault::SessionsCut => {
                let cut = "select pg_terminate_backend(pid) from pg_stat_activity
                           where pid <> pg_backend_pid() and backend_type = 'client backend'";
                self.database.client().await.batch_execute(cut).await.unwrap();
            }
            Fault::TasksLocked => {
                let client = self.database.client().await;
                client.batch_execute("begin; lock table svc_runtime.tasks in access exclusive mode").await.unwrap();
                self.rest(2_000).await;
                client.batch_execute("commit").await.unwrap();
            }
        }
    }
}
