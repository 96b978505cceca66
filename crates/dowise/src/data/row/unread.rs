//! Messages for unreadable cells, with suggestions.

use crate::data::columns::{Own, Role};
use crate::data::findings::{FindingKind, Findings};
use crate::data::labels::{Labels, number};
use crate::messages::nearest;
use crate::world::World;

/// Whether a text is a number with a decimal comma.
pub(super) fn has_decimal_comma(text: &str) -> bool {
    text.contains(',') && number(text.as_bytes(), true).is_some()
}

/// One group for all such numbers of a column, since they have one cause.
pub(super) fn decimal_comma(text: &str, (index, line): (usize, u64), findings: &mut Findings) {
    findings.add(FindingKind::NotANumber, Some(index), line, || {
        format!("\"{text}\" is not a number; if it has a decimal comma, say `decimal = \",\"` in a map")
    });
}

pub(super) fn unknown(
    world: &World,
    role: Role,
    (index, line): (usize, u64),
    cell: &[u8],
    labels: &Labels,
    findings: &mut Findings,
) {
    let Ok(text) = std::str::from_utf8(cell) else {
        let say = || "a cell is not written in UTF-8; save the file again with that encoding".to_owned();
        return findings.add(FindingKind::Encoding, Some(index), line, say);
    };
    if labels.has_bins() && has_decimal_comma(text) {
        return decimal_comma(text, (index, line), findings);
    }
    let variable = match role {
        Role::Value(ix) => Some(&world.variables()[ix]),
        Role::Next(i) => Some(world.variable(world.state()[i])),
        Role::Set(_) | Role::Term(_) | Role::Own(_) => None,
    };
    findings.add_label(FindingKind::UnknownLabel, Some(index), line, text, || {
        let text: String = text.chars().take(60).collect();
        let Some(variable) = variable else {
            let must = if role == Role::Own(Own::End) {
                "empty, \"terminated\" or \"truncated\""
            } else {
                "0 or 1, no or yes, false or true"
            };
            return (format!("\"{text}\" is not understood: it must be {must}"), None);
        };
        let near = nearest(&text, variable.values.iter().map(String::as_str).chain(labels.texts())).map(str::to_owned);
        let help = match &near {
            Some(near) => format!("; did you mean \"{near}\"?"),
            None => {
                let some: Vec<&str> = variable.values.iter().take(6).map(String::as_str).collect();
                let more = if variable.values.len() > 6 { ", …" } else { "" };
                let cut = match text.parse::<f64>() {
                    Ok(_) => format!(
                        "; to cut numbers into values, write [bins.\"{}\"] in a map (--map FILE)",
                        variable.name
                    ),
                    Err(_) => String::new(),
                };
                format!("; it has {}{more}{cut}", some.join(", "))
            }
        };
        (format!("\"{text}\" is no value of \"{}\"{help}", variable.name), near)
    });
}
