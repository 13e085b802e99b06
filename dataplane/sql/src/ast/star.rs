//! Options behind `*`.

use sqlparser::ast::{
    ExcludeSelectItem, Ident, IdentWithAlias, ObjectName, RenameSelectItem, WildcardAdditionalOptions,
};

/// The columns that it renames.
pub(crate) fn renamed(options: &WildcardAdditionalOptions) -> &[IdentWithAlias] {
    match &options.opt_rename {
        None => &[],
        Some(RenameSelectItem::Single(one)) => std::slice::from_ref(one),
        Some(RenameSelectItem::Multiple(many)) => many,
    }
}

/// Leaves these columns out of it too.
pub(crate) fn leave_out(options: &mut WildcardAdditionalOptions, columns: impl IntoIterator<Item = Ident>) {
    let mut excluded = match options.opt_exclude.take() {
        None => Vec::new(),
        Some(ExcludeSelectItem::Single(name)) => vec![name],
        Some(ExcludeSelectItem::Multiple(names)) => names,
    };
    excluded.extend(columns.into_iter().map(|column| ObjectName::from(vec![column])));
    options.opt_exclude = Some(ExcludeSelectItem::Multiple(excluded));
}
