//! The page of metrics: every row of the table, and the alerts that ask for them.

use std::fmt::Write;

use contract::metrics::{self, Metric};

use crate::{Error, alerts};

/// `METRICS.md`.
pub fn page() -> Result<String, Error> {
    let mut out = String::from(
        "# Metrics\n\nPrinted by chartgen from the table that the programs measure by; not edited by hand. Operator,\n\
         control plane and data plane each serve `/metrics` on port 9090, in the OpenMetrics text format. No label\n\
         names a tenant, an address or a statement.\n",
    );
    let programs = [
        ("Operator", metrics::operator::ALL),
        ("Control plane", metrics::controlplane::ALL),
        ("Data plane", metrics::dataplane::ALL),
    ];
    for (program, rows) in programs {
        let _ = write!(out, "\n## {program}\n\n| Metric | Kind | Labels | Meaning |\n|---|---|---|---|\n");
        for row in rows {
            line(&mut out, row);
        }
    }
    let _ = write!(out, "\n## Alerts\n\n{}", alerts::table()?);
    Ok(out)
}

fn line(out: &mut String, row: &Metric) {
    let labels: Vec<_> = row.labels.iter().map(|label| format!("`{label}`")).collect();
    let _ = writeln!(out, "| `{}` | {} | {} | {} |", row.name, row.kind.as_str(), labels.join(", "), row.help);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::dashboards;

    fn asked(questions: impl Iterator<Item = &'static str>) -> BTreeSet<String> {
        let word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
        let words = questions.flat_map(|expr| expr.split(word)).filter(|word| word.starts_with("sluice_"));
        words.map(str::to_owned).collect()
    }

    #[test]
    fn dashboards_and_alerts_ask_only_for_what_is_measured() {
        let measured: BTreeSet<_> = metrics::all().flat_map(Metric::series).collect();
        let asked = asked(dashboards::questions().chain(alerts::questions()));
        assert_eq!(asked.difference(&measured).collect::<Vec<_>>(), Vec::<&String>::new());
    }

    #[test]
    fn every_metric_is_on_a_dashboard() {
        let asked = asked(dashboards::questions());
        let unseen: Vec<_> =
            metrics::all().filter(|row| !row.series().iter().any(|series| asked.contains(series))).collect();
        assert_eq!(unseen, Vec::<&Metric>::new());
    }
}
