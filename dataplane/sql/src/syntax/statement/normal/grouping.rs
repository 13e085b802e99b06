//! `GROUP BY CUBE (…)`: how many groupings one SELECT may ask for. The engine refuses 65,536, and takes long for fewer.

use sqlparser::ast::{Expr, GroupByExpr, Select};

use crate::ast::error::Error;

const SETS_MAX: usize = 4_096;

pub(super) fn bounded(select: &Select) -> Result<(), Error> {
    let GroupByExpr::Expressions(keys, _) = &select.group_by else { return Ok(()) };
    match keys.iter().map(sets).try_fold(1, usize::checked_mul) {
        Some(all) if all <= SETS_MAX => Ok(()),
        _ => Err(Error::unsupported(format!("GROUP BY of more than {SETS_MAX} groupings"))),
    }
}

/// How many a key stands for: several keys stand for the product.
#[recursive::recursive]
fn sets(key: &Expr) -> usize {
    match key {
        Expr::Cube(keys) => {
            u32::try_from(keys.len()).ok().and_then(|len| 2_usize.checked_pow(len)).unwrap_or(usize::MAX)
        }
        Expr::Rollup(keys) => keys.len() + 1,
        Expr::GroupingSets(keys) => {
            let within = |set: &Vec<Expr>| match set.as_slice() {
                [only] => sets(only),
                _ => 1,
            };
            keys.iter().map(within).fold(0, usize::saturating_add)
        }
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{analyst, engine};

    #[test]
    fn groupings_are_bounded() {
        let list = |count: usize| vec!["id"; count].join(", ");
        let asked =
            |keys: String| engine(&format!("SELECT count(*) FROM customers GROUP BY {keys}"), &analyst()).is_ok();
        assert!(asked(format!("CUBE ({})", list(12))));
        assert!(asked(format!("ROLLUP ({}), CUBE (id, name)", list(50))));
        assert!(asked("GROUPING SETS ((id, name), (id), ())".to_owned()));
        assert!(!asked(format!("CUBE ({})", list(13))));
        assert!(!asked(format!("CUBE ({})", list(200))));
        assert!(!asked(["CUBE (id, name, region)"; 12].join(", ")));
        assert!(!asked(format!("ROLLUP ({}), ROLLUP ({})", list(80), list(80))));
    }
}
