//! A report as one self-contained page of HTML: nothing is fetched, figures are inside.

use std::fmt::Write;

use crate::{Figure, RunRow, Study, StudyError, Summary, Tables, figures};

/// A page that is being written.
pub(crate) struct Page {
    body: String,
    title: String,
}

/// Figures keep their white paper where the page is dark.
const STYLE: &str = ":root{color-scheme:light dark;--ink:#222;--paper:#fff;--rule:#ddd;--soft:#f6f6f6;--no:#b00020}\
@media(prefers-color-scheme:dark){:root{--ink:#e6e6e6;--paper:#16181c;--rule:#3a3f47;--soft:#22262c;--no:#ff8a80}}\
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:var(--ink);background:var(--paper);\
overflow-wrap:anywhere}\
h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2rem}.wide{overflow-x:auto}\
table{border-collapse:collapse;font-size:.85rem;margin:1rem 0}\
th,td{text-align:left;padding:.25rem .7rem;border-bottom:1px solid var(--rule);vertical-align:top;overflow-wrap:normal}\
td.number,td.short{white-space:nowrap}\
td.no{color:var(--no);font-weight:600}td.number,th.number{text-align:right;font-variant-numeric:tabular-nums}\
figure{margin:1.5rem 0}figure svg{max-width:100%;height:auto;background:#fff;border-radius:6px}\
dt{font-weight:600}dd{margin:0 0 .5rem 1rem}\
pre{font-size:.75rem;overflow:auto;background:var(--soft);padding:.7rem}";

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

    /// Words and what they mean.
    pub(crate) fn words(&mut self, pairs: &[(&str, &str)]) {
        let items = pairs.iter().map(|(word, means)| format!("<dt>{}</dt><dd>{}</dd>", escape(word), escape(means)));
        let _ = writeln!(self.body, "<dl>{}</dl>", items.collect::<String>());
    }

    /// Something that is HTML already.
    pub(crate) fn raw(&mut self, html: &str) {
        self.body.push_str(html);
    }

    pub(crate) fn table(&mut self, header: &[&str], rows: impl Iterator<Item = Vec<String>>) {
        let rows: Vec<Vec<String>> = rows.collect();
        let is_number = |c: &str| c.trim_end_matches(" %").parse::<f64>().is_ok();
        let head = header.iter().enumerate().map(|(i, h)| {
            let numbers = !rows.is_empty() && rows.iter().all(|row| row.get(i).is_some_and(|c| is_number(c)));
            format!("<th{}>{}</th>", if numbers { " class=\"number\"" } else { "" }, escape(h))
        });
        let head: String = head.collect();
        let _ = writeln!(self.body, "<div class=\"wide\"><table><thead><tr>{head}</tr></thead><tbody>");
        for row in &rows {
            let cell = |c: &String| {
                let class = match c.as_str() {
                    "not held" => " class=\"no\"",
                    c if is_number(c) => " class=\"number\"",
                    _ => "",
                };
                format!("<td{class}>{}</td>", escape(c))
            };
            let _ = writeln!(self.body, "<tr>{}</tr>", row.iter().map(cell).collect::<String>());
        }
        self.body.push_str("</tbody></table></div>\n");
    }

    pub(crate) fn figure(&mut self, figure: &Figure) -> Result<(), StudyError> {
        let svg = figure.draw()?.svg;
        // A view box lets the figure shrink with the page.
        let size = |name: &str| svg.split_once(&format!("{name}=\"")).and_then(|(_, rest)| rest.split('"').next());
        let (width, height) = (size("width").unwrap_or("560"), size("height").unwrap_or("360"));
        let begin =
            format!("<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\" ", escape(&figure.title));
        let _ = writeln!(self.body, "<figure>{}</figure>", svg.replacen("<svg ", &begin, 1));
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

/// What the columns of the summary mean.
const WORDS: [(&str, &str); 6] = [
    (
        "regret",
        "what was lost against the best policy, added up over all episodes of a run; sd is its standard deviation over runs",
    ),
    ("best", "what an episode is worth under the best policy, on average"),
    ("learned", "the same of the policy that a run ended with"),
    ("random", "the same of interventions at random"),
    ("of the way", "how far the learned policy is on the way from random (0 %) to best (100 %)"),
    (
        "estimate",
        "how the learner reads what it has seen: confidence sets, a width added to the mean, or posterior samples",
    ),
];

/// A number with as many digits as it needs to be given from zero; what rounding left of a zero, at this size of the others, is zero.
fn number(x: f64, size: f64) -> String {
    match x.abs() {
        small if small <= 1e-12 * size => "0".to_owned(),
        size if !(1e-3..1e7).contains(&size) => format!("{x:.2e}"),
        size if size < 10.0 => format!("{x:.3}"),
        _ => format!("{x:.1}"),
    }
}

/// A share in per cent with one digit; nothing is minus zero.
pub fn percent(share: f64) -> String {
    let tenths = (1000.0 * share).round();
    format!("{:.1} %", if tenths == 0.0 { 0.0 } else { tenths / 10.0 })
}

/// The report of a study: summary, figures, combinations, timings.
pub fn report(study: &Study, tables: &Tables) -> Result<String, StudyError> {
    let mut page = Page::new(&study.name);
    let n = study.n_runs();
    page.paragraph(&format!("{n} runs, {} of each combination, seed {}.", study.repetitions, study.seed));
    let rows = study.combinations.iter().enumerate().map(|(i, s)| {
        let r = tables.summary(i);
        let runs = || tables.runs.iter().zip(&tables.seconds).filter(|(run, _)| run.combination == i);
        let mean = |of: &dyn Fn(&RunRow) -> f64| Summary::of(runs().map(|(run, _)| of(run))).mean;
        let reached = mean(&RunRow::reached);
        let values = [mean(&|r| r.optimal), mean(&|r| r.value), mean(&|r| r.random)];
        let size = values.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
        let values = values.map(|v| number(v, size));
        let reached = if reached.is_finite() { percent(reached) } else { "–".to_owned() };
        let regrets = [r.mean, r.sd, r.median].map(|v| number(v, size * s.episodes as f64));
        let seconds = format!("{:.2}", runs().map(|(_, seconds)| seconds).sum::<f64>());
        let names = [s.world.to_string(), s.learner.to_string(), s.learner.estimate()];
        [&names[..], &regrets, &values, &[reached, seconds]].concat()
    });
    let header = [
        "world",
        "learner",
        "estimate",
        "mean regret",
        "sd",
        "median",
        "best",
        "learned",
        "random",
        "of the way",
        "seconds",
    ];
    page.table(&header, rows);
    page.words(&WORDS);
    if let Some(note) = study.by_play_note() {
        page.paragraph(&note);
    }
    for (_, figure) in figures(study, tables) {
        page.figure(&figure)?;
    }
    page.heading("Settings");
    page.raw(&format!("<pre>{}</pre>", escape(&study.to_toml())));
    Ok(page.finish())
}
