//! An unload whose format is a named one or that of its stage, bound to what the name means.

use crate::ast::error::Error;
use crate::catalog::definition::DefinitionKind;
use crate::catalog::stage::StageFormat;
use crate::catalog::tables::{Catalog, SessionNames};
use crate::syntax::parse::staged;
use crate::syntax::statement::{SaidFormat, Unload};

/// The unload with its files written as the format says that it names, or its stage.
pub fn unloaded_as_said(unload: Unload, catalog: &Catalog, session: &SessionNames) -> Result<Unload, Error> {
    match unload.said.clone() {
        SaidFormat::Whole => Ok(unload),
        SaidFormat::Named { name, others } => {
            let mut format = StageFormat::Named(name).options(catalog, session)?;
            format.change(&others)?;
            unload.written_as(&format)
        }
        SaidFormat::OfStage => {
            let stage = staged::stage_name(&unload.stage)?;
            let stage = catalog.staged(DefinitionKind::Stage, &stage, session)?.stage()?;
            unload.written_as(&stage.format.options(catalog, session)?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;
    use crate::syntax::statement::StatementKind;

    fn asked(text: &str) -> Unload {
        match parse(text).expect(text).kind() {
            StatementKind::Unload(unload) => unload.clone(),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn a_format_that_is_said_whole_needs_no_catalogue() {
        let (catalog, session) = (Catalog::default(), crate::testing::session());
        let said = asked("COPY INTO @s FROM t FILE_FORMAT = (TYPE = CSV FIELD_DELIMITER = '|')");
        assert_eq!(unloaded_as_said(said.clone(), &catalog, &session).unwrap(), said);
        for text in ["COPY INTO @s FROM t", "COPY INTO @s FROM t FILE_FORMAT = (FORMAT_NAME = f)"] {
            assert!(unloaded_as_said(asked(text), &catalog, &session).is_err(), "{text}: there is no such thing");
        }
    }
}
