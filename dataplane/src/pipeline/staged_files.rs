//! Files of stages, for whoever may: listed, read, put there and removed.
//!
//! No statement runs, but who asks passes the gates of a tool action: the semaphore, stages 3 to 5, meter, and the
//! audit, which has the file's path and bytes. A stage that the caller may not see is as if it were not there.

use std::collections::BTreeSet;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use contract::policy::abac::Operation;
use contract::stage_files::PUT_WITHIN_SECS;
use sql::StagePlace;

use super::authorization::visible_catalog;
use super::stages::policy;
use super::{Pipeline, Result, ToolAction, own_stages, startup_gate};
use crate::error::StageFileFault;
use crate::request::trail::Trail;
use crate::storage::stage_files::{ReadBounds, StageFile, StageStore, StageWriter, blocking, user_stage, user_stages};
use crate::{Ask, Error};

/// How long an object of a store is read for whoever takes it: as long as a file may take on its way in.
const GET_WITHIN: Duration = Duration::from_secs(PUT_WITHIN_SECS);

/// A file that is open, and how many bytes it has.
type OpenedFile = (Box<dyn Read + Send>, u64);

contract::named! {
    /// An action on the files of a stage, as the log calls it.
    pub enum FileAction { List = "LIST", Get = "GET", Put = "PUT", Remove = "REMOVE" }
}

impl FileAction {
    /// As policies and grants have it.
    const fn operation(self) -> Operation {
        match self {
            Self::List | Self::Get => Operation::Select,
            Self::Put => Operation::Insert,
            Self::Remove => Operation::Delete,
        }
    }

    const fn writes(self) -> bool {
        matches!(self, Self::Put | Self::Remove)
    }

    /// The gates' view of it: the name, the path and the bytes are what the log says.
    fn asked(self, ask: Ask, stage: &StagePlace, path: &str, bytes: Option<u64>) -> ToolAction {
        let bytes = bytes.map_or_else(String::new, |bytes| format!(", {bytes} bytes"));
        let sql = format!("{} {}/{path}{bytes}", self.as_str(), stage.path);
        let (tables, operation) = (sql::with_tables_of_stages(vec![stage.path.clone()]), self.operation());
        ToolAction { ask: Ask { sql, ..ask }, tables, operation, reads: Vec::new() }
    }
}

/// Whether something is dropped or replaced that may have files: a stage, or a table with its own.
pub(super) fn drops_a_stage(written: &[(String, Operation)]) -> bool {
    written.iter().any(|(_, done)| *done == Operation::Drop)
}

impl Pipeline {
    /// The stage that a name means to whoever asks, who may do this with files of stages.
    /// Who may not is refused before anything is opened or taken in, and that is written down.
    pub async fn stage(self: &Arc<Self>, ask: &Ask, name: &str, action: FileAction) -> Result<StagePlace> {
        let query = startup_gate::enter(self, ask.clone()).await?;
        let rules = self.rules()?;
        let who = policy::caller(self, &query, &rules)?;
        who.caller.may_query(action.writes()).map_err(Error::Lacks)?;
        query.ask.bounds.permit(&who.caller, action.writes())?;
        query.ledger.storage.has_room(&rules, action.operation())?;
        let seen = self.remembered.tables.now(&self.engine()?, &rules).await?;
        let asked = who.asks(&rules, ask.into(), action.writes()).over(&seen.stages);
        let visible = visible_catalog::seen(&asked, &seen.known);
        let mut names = policy::names(&query, &rules);
        names.user_stage = user_stage(&who.caller);
        let Ok(stage) = sql::stage_named(&visible, name, &names) else {
            let path = sql::stage_path(&visible, name, &names).unwrap_or_else(|| format!("main.@{name}"));
            let unseen = StagePlace { id: String::new(), location: None, path };
            let refused = Error::from(StageFileFault::NoStage { name: name.to_owned() });
            // Whatever keeps it from them is for the log: they are told that it is not there.
            let _ = self.refuse(action.asked(ask.clone(), &unseen, "", None), refused.clone()).await;
            return Err(refused);
        };
        let (tables, operations) = (sql::with_tables_of_stages(vec![stage.path.clone()]), [action.operation()]);
        let judged = asked.judge((&tables, &tables), &operations, &Trail::default()).map(drop);
        let judged = match action {
            FileAction::Get => judged.and_then(|()| asked.opens_whole(&stage.path)),
            FileAction::List | FileAction::Remove => judged.and_then(|()| asked.tells_files(&stage.path)),
            FileAction::Put => judged,
        };
        let refused = match judged.and_then(|()| asked.opens_tables_whole(&tables)) {
            Ok(()) if action == FileAction::Put => return Box::pin(own_stages::kept(self, &query, stage)).await,
            Ok(()) => return Ok(stage),
            Err(refused) => refused,
        };
        self.refuse(action.asked(ask.clone(), &stage, "", None), refused.clone()).await?;
        Err(refused)
    }

    /// Writes down that it was refused; the gates may refuse it for a reason before this one.
    async fn refuse(self: &Arc<Self>, tool_action: ToolAction, refused: Error) -> Result<()> {
        let work = async move { Err::<((), u64), Error>(refused) };
        Box::pin(self.act(tool_action, |_| work)).await
    }

    /// Whether whoever asks may know which files the stage has.
    pub(super) async fn tells_files(self: &Arc<Self>, ask: &Ask, stage: &StagePlace) -> Result<()> {
        let query = startup_gate::enter(self, ask.clone()).await?;
        let rules = self.rules()?;
        let who = policy::caller(self, &query, &rules)?;
        who.asks(&rules, ask.into(), true).tells_files(&stage.path)
    }

    /// Writes down that files were not put into the stage, and says why.
    pub(super) async fn refused_put(self: &Arc<Self>, ask: &Ask, stage: &StagePlace, refused: Error) -> Error {
        let action = FileAction::Put.asked(ask.clone(), stage, "", None);
        match Box::pin(self.refuse(action, refused.clone())).await {
            Ok(()) => refused,
            Err(told) => told,
        }
    }

    /// The files of a stage whose paths begin so.
    pub async fn list_files(self: &Arc<Self>, ask: Ask, stage: &StagePlace, prefix: &str) -> Result<Vec<StageFile>> {
        let action = FileAction::List.asked(ask, stage, prefix, None);
        let (store, prefix) = (self.store_of(stage)?, prefix.to_owned());
        let work = async move {
            let found = store.list(&prefix).await?;
            let count = u64::try_from(found.len()).unwrap_or(u64::MAX);
            Ok::<_, Error>((found, count))
        };
        Box::pin(self.act(action, |_| work)).await
    }

    /// A file of a stage, to be read, and how large it is. Reading an external one fails if it is another by its end.
    pub async fn get_file(self: &Arc<Self>, ask: Ask, stage: &StagePlace, path: &str) -> Result<OpenedFile> {
        let store = self.store_of(stage)?;
        let (opened, bytes) = match &store {
            StageStore::Internal { files, id } => {
                let (files, id, own) = (files.clone(), id.clone(), path.to_owned());
                let opened = blocking(move || {
                    let file = files.open(&id, &own)?;
                    let metadata = file.metadata().map_err(|_| Error::from(StageFileFault::Unavailable))?;
                    Ok((file, metadata.len()))
                });
                let (file, bytes) = opened.await?;
                (Box::new(file) as Box<dyn Read + Send>, bytes)
            }
            StageStore::External(files) => {
                let found = Box::pin(files.find(path)).await?;
                let (tasks, cancel) = (self.tasks.clone(), ask.cancel.clone());
                let bounds = ReadBounds { tasks, deadline: Instant::now() + GET_WITHIN, cancel };
                (Box::pin(files.open_listed(&found, &bounds)).await?, found.bytes)
            }
        };
        let action = FileAction::Get.asked(ask, stage, path, Some(bytes));
        Box::pin(self.act(action, |_| async move { Ok(((opened, bytes), 1)) })).await
    }

    /// Puts a file that has come whole into its stage.
    pub async fn put_file(self: &Arc<Self>, ask: Ask, stage: &StagePlace, writer: StageWriter) -> Result<StageFile> {
        let mut put = Box::pin(self.put_files(ask, stage, vec![writer])).await?;
        put.pop().ok_or_else(|| StageFileFault::Unavailable.into())
    }

    /// Puts files that have come whole into their stage, all of them or none. One entry of the log has them all.
    pub(super) async fn put_files(
        self: &Arc<Self>,
        ask: Ask,
        stage: &StagePlace,
        writers: Vec<StageWriter>,
    ) -> Result<Vec<StageFile>> {
        let each = writers.iter().map(|writer| format!("{}, {} bytes", writer.path(), writer.bytes()));
        let action = FileAction::Put.asked(ask, stage, &each.collect::<Vec<_>>().join("; "), None);
        let count = u64::try_from(writers.len()).unwrap_or(u64::MAX);
        let work = async move {
            Ok::<_, Error>((Box::pin(self.place_files(stage, writers, &AtomicBool::default())).await?, count))
        };
        Box::pin(self.act(action, |_| work)).await
    }

    /// Puts files into a stage, all of them or none, for somebody who was found to be allowed to.
    /// Once it has `begun`, the files come to be there though nobody waits for that.
    pub(super) async fn place_files(
        &self,
        stage: &StagePlace,
        writers: Vec<StageWriter>,
        begun: &AtomicBool,
    ) -> Result<Vec<StageFile>> {
        let store = self.store_of(stage)?;
        if stage.location.is_none() {
            self.has_room_for(writers.iter().map(StageWriter::bytes).sum())?;
        }
        let placed = Box::pin(store.place_all(writers, (&self.tasks, begun))).await?;
        if self.stage_ids().await?.contains(&stage.id) {
            return Ok(placed);
        }
        // It was dropped while they came.
        Box::pin(store.take_back(&placed)).await?;
        Err(StageFileFault::NoStage { name: stage.path.clone() }.into())
    }

    /// Removes a file of a stage.
    pub async fn remove_file(self: &Arc<Self>, ask: Ask, stage: &StagePlace, path: &str) -> Result<()> {
        let action = FileAction::Remove.asked(ask, stage, path, None);
        let (store, path) = (self.store_of(stage)?, path.to_owned());
        let work = async move {
            let was_there = store.remove(&path).await?;
            let missing = StageFileFault::Missing { path };
            if was_there { Ok(((), 1)) } else { Err(Error::from(missing)) }
        };
        Box::pin(self.act(action, |_| work)).await
    }

    /// Removes the files of stages that are gone: dropped, replaced, or dropped while a file came; and of those whose user
    /// or table is gone.
    pub async fn sweep_stage_files(&self) -> Result<()> {
        let files = self.stage_files.clone();
        // Looked for before the catalogue is read: a stage that is made meanwhile has no folder among these.
        let folders = blocking(move || files.stages()).await?;
        if folders.is_empty() {
            return Ok(());
        }
        let known = self.stage_ids().await?;
        for id in folders.into_iter().filter(|id| !known.contains(id)) {
            let files = self.stage_files.clone();
            blocking(move || files.drop_stage(&id)).await?;
        }
        Ok(())
    }

    /// The same after a statement that has dropped one. What fails is left to the next round.
    pub(super) async fn forget_dropped_stages(&self) {
        if let Err(error) = Box::pin(self.sweep_stage_files()).await {
            tracing::warn!(%error, "the files of a stage that was dropped could not be removed");
        }
    }

    fn store_of(&self, stage: &StagePlace) -> Result<StageStore> {
        self.stage_store(&*self.rules()?, &stage.id, stage.location.as_ref())
    }

    /// The ids of all stages that there are, the own ones of tables and users among them.
    async fn stage_ids(&self) -> Result<BTreeSet<String>> {
        let rules = self.rules()?;
        let seen = self.remembered.tables.now(&self.engine()?, &rules).await?;
        let mut ids = sql::stage_ids(&seen.known)?;
        ids.extend(user_stages(&rules));
        Ok(ids)
    }
}
