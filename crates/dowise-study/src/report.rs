//! A report as one self-contained page of HTML: nothing is fetched, figures are inside.

use std::fmt::Write;

use crate::{Figure, Study, StudyError, Tables, figures};

/// A page that is being written.
pub(crate) struct Page {
    body: String,
    title: String,
}

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}\
h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2rem}table{border-collapse:collapse;font-size:.85rem;margin:1rem 0}\
th,td{text-align:left;padding:.25rem .7rem;border-bottom:1px solid #ddd;vertical-align:top}\
td.no{color:#b00020;font-weight:600}td.number{text-align:right;font-variant-numeric:tabular-nums}\
figure{margin:1.5rem 0}figure svg{max-width:100%;height:auto}pre{font-size:.75rem;overflow:auto;background:#f6f6f6;padding:.7rem}";

impl Page {
    pub(crate) fn new(title: &str) -> Page {
        Page { body: String::new(), title: title.to_owned() }
    }

    pub(crate) fn heading(&mut self, text: &str) {
        let _ = writeln!(self.body, "<h2>{}</h2>", escape(text));
    }

    pub(crate) fn paragraph(&mut self, text: &str) {
        let _ = writeln!(self.body, "<p>{}</p>", escape(text));
    }

    /// Something that is HTML already.
    pub(crate) fn raw(&mut self, html: &str) {
        self.body.push_str(html);
    }

    pub(crate) fn table(&mut self, header: &[&str], rows: impl Iterator<Item = Vec<String>>) {
        let head: String = header.iter().map(|h| format!("<th>{}</th>", escape(h))).collect();
        let _ = writeln!(self.body, "<table><thead><tr>{head}</tr></thead><tbody>");
        for row in rows {
            let cell = |c: &String| {
                let class = match c.as_str() {
                    "not held" => " class=\"no\"",
                    c if c.parse::<f64>().is_ok() => " class=\"number\"",
                    _ => "",
                };
                format!("<td{class}>{}</td>", escape(c))
            };
            let _ = writeln!(self.body, "<tr>{}</tr>", row.iter().map(cell).collect::<String>());
        }
        self.body.push_str("</tbody></table>\n");
    }

    pub(crate) fn figure(&mut self, figure: &Figure) -> Result<(), StudyError> {
        let svg = figure.draw()?.svg;
        // A view box lets the figure shrink with the page.
        let svg = svg.replacen("<svg ", "<svg viewBox=\"0 0 560 360\" role=\"img\" ", 1);
        let _ = writeln!(self.body, "<figure>{svg}</figure>");
        Ok(())
    }

    pub(crate) fn finish(self) -> String {
        let title = escape(&self.title);
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
             content=\"width=device-width\"><title>{title}</title><style>{STYLE}</style></head>\n<body><h1>{title}</h1>\n{}\
             <p>Made by dowise {}.</p></body></html>\n",
            self.body,
            env!("CARGO_PKG_VERSION")
        )
    }
}

/// Text for HTML.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The report of a study: summary, figures, combinations, timings.
pub fn report(study: &Study, tables: &Tables) -> Result<String, StudyError> {
    let mut page = Page::new(&study.name);
    let n = study.n_runs();
    page.paragraph(&format!("{n} runs, {} of each combination, seed {}.", study.repetitions, study.seed));
    let rows = study.combinations.iter().enumerate().map(|(i, s)| {
        let r = tables.summary(i);
        let seconds: f64 =
            tables.runs.iter().zip(&tables.seconds).filter(|(run, _)| run.combination == i).map(|(_, s)| s).sum();
        let numbers = [r.mean, r.sd, r.median, seconds].map(|x| format!("{x:.2}"));
        [vec![s.world.to_string(), s.learner.to_string(), s.learner.estimate()], numbers.to_vec()].concat()
    });
    page.table(&["world", "learner", "estimate", "mean regret", "sd", "median", "seconds"], rows);
    for (_, figure) in figures(study, tables) {
        page.figure(&figure)?;
    }
    page.heading("Settings");
    page.raw(&format!("<pre>{}</pre>", escape(&study.to_toml())));
    Ok(page.finish())
}
