//! The settings of a session at one moment, so that a transaction can go back to it.
//!
//! Values are shared between moments: a thousand savepoints keep what was set between them, and nothing twice.

use std::collections::BTreeMap;
use std::sync::Arc;

use contract::Code;

use super::known::{KnownSetting, find};
use super::{ErrorResponse, Identity, Property, SetValueForm};

/// Variables of one session.
pub(super) const VARIABLES_MAX: usize = 256;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Literal {
    pub text: String,
    pub written: SetValueForm,
}

impl Literal {
    fn boolean(&self) -> Option<bool> {
        match self.text.to_lowercase().as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct SettingValues {
    /// By name as it is shown; what is absent has its default.
    known: BTreeMap<&'static str, Arc<str>>,
    variables: Arc<BTreeMap<Arc<str>, Arc<Literal>>>,
    pub identity: Identity,
}

/// One change of them.
#[derive(Debug)]
pub(super) enum Put {
    Known(&'static KnownSetting, Arc<str>),
    Variable(Arc<str>, Option<Arc<Literal>>),
    Identity(Property, String),
}

impl Put {
    pub fn is_of_transaction(&self) -> bool {
        matches!(self, Self::Known(known, _) if known.is_of_transaction())
    }
}

impl SettingValues {
    /// The same after a change.
    pub fn with(&self, put: &Put) -> Result<Arc<Self>, ErrorResponse> {
        let mut changed = self.clone();
        match put {
            Put::Known(known, value) => {
                changed.known.insert(known.name, Arc::clone(value));
            }
            Put::Identity(property, value) => {
                changed.identity.set(*property, value).map_err(|text| ErrorResponse::new(Code::InvalidParams, text))?;
            }
            Put::Variable(name, value) => {
                let variables = Arc::make_mut(&mut changed.variables);
                match value {
                    Some(value) => variables.insert(Arc::clone(name), Arc::clone(value)),
                    None => variables.remove(name),
                };
                if variables.len() > VARIABLES_MAX {
                    let message = format!("a session has at most {VARIABLES_MAX} variables");
                    return Err(ErrorResponse::new(Code::InvalidParams, message).with_state("53400"));
                }
            }
        }
        Ok(Arc::new(changed))
    }

    /// These, but for what the transaction was begun with.
    pub fn with_transaction_of(&self, other: &Self) -> Self {
        let is_kept = |(name, _): &(&&str, &Arc<str>)| find(name).is_some_and(KnownSetting::is_of_transaction);
        let of_transaction = other.known.iter().filter(is_kept);
        let mut these = self.clone();
        these.known.extend(of_transaction.map(|(name, value)| (*name, Arc::clone(value))));
        these
    }

    /// What was set, if it was.
    pub fn set(&self, known: &KnownSetting) -> Option<&str> {
        self.known.get(known.name).map(|value| &**value)
    }

    /// The value that a setting has.
    pub fn of<'v>(&'v self, known: &'v KnownSetting) -> &'v str {
        let begun_with = || known.stands_for().and_then(|default| self.set(default));
        self.set(known).or_else(begun_with).unwrap_or(known.default)
    }

    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(|literal| literal.text.as_str())
    }

    pub fn has_variables_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.variables, &other.variables)
    }

    /// The variables as a statement takes them.
    pub fn put_in(&self) -> sql::Variables {
        let mut put_in = sql::Variables::default();
        for (name, literal) in &*self.variables {
            let value = match (literal.written, literal.boolean()) {
                (SetValueForm::Number, _) => sql::Variable::Number(literal.text.clone()),
                (SetValueForm::Word, Some(value)) => sql::Variable::Boolean(value),
                _ => sql::Variable::Text(literal.text.clone()),
            };
            put_in.set(name, value);
        }
        put_in
    }
}
