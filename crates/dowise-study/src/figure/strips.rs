//! What is well known and what is not: for each table a strip of its rows, from the narrowest interval to the widest.

use super::Drawing;
use super::canvas::{Anchor, Canvas, text_width};
use crate::StudyError;

/// A picture of how well the rows of several tables are known.
#[derive(Clone, Debug, PartialEq)]
pub struct Strips {
    /// A few words above it.
    pub title: String,
    /// What a reader must know to judge it.
    pub subtitle: String,
    /// One for each table, in order from above.
    pub strips: Vec<Strip>,
}

/// One table.
#[derive(Clone, Debug, PartialEq)]
pub struct Strip {
    /// What it is.
    pub label: String,
    /// A few words at its right end.
    pub note: String,
    /// Width of each row's interval as a share of what it could be, and its visits.
    pub rows: Vec<(f64, u64)>,
}

const WIDTH: f64 = 760.0;
const LEFT: f64 = 44.0;
const RIGHT: f64 = 744.0;
/// Height of a strip, and of the words above it.
const BAND: f64 = 46.0;
const WORDS: f64 = 22.0;
const GAP: f64 = 12.0;
const TITLE: u32 = 15;
const TEXT: u32 = 12;
const SMALL: u32 = 11;
const INK: [u8; 3] = [30, 30, 30];
const MUTED: [u8; 3] = [95, 95, 95];
const GRID: [u8; 3] = [228, 228, 228];
/// Columns that can be distinguished; more rows share one, and the widest of them is shown.
const COLUMNS: usize = 350;

/// Classes of visits: the least of each, its name, its colour. From vermilion to dark blue, in that order of lightness too.
const CLASSES: [(u64, &str, [u8; 3]); 5] = [
    (0, "never seen", [213, 94, 0]),
    (1, "1 to 9 visits", [240, 180, 60]),
    (10, "10 to 99", [150, 205, 235]),
    (100, "100 to 999", [50, 140, 195]),
    (1_000, "1,000 and more", [10, 60, 110]),
];

fn colour(visits: u64) -> [u8; 3] {
    CLASSES.iter().rev().find(|(least, ..)| visits >= *least).map_or(INK, |class| class.2)
}

impl Strips {
    /// Draws it, as a function of its data alone.
    pub fn draw(&self) -> Result<Drawing, StudyError> {
        let top = 84.0;
        let height = top + self.strips.len() as f64 * (WORDS + BAND + GAP) + 34.0;
        let mut canvas = Canvas::new(WIDTH, height);
        canvas.text((12.0, 24.0), &self.title, TITLE, Anchor::Start, INK);
        canvas.text((12.0, 42.0), &self.subtitle, SMALL, Anchor::Start, MUTED);
        let mut x = 12.0;
        for (_, name, rgb) in CLASSES {
            rectangle(&mut canvas, [x, 55.0, x + 11.0, 66.0], rgb);
            canvas.text((x + 16.0, 65.0), name, SMALL, Anchor::Start, INK);
            x += 34.0 + text_width(name, SMALL);
        }
        for (i, strip) in self.strips.iter().enumerate() {
            strip.draw(&mut canvas, top + i as f64 * (WORDS + BAND + GAP));
        }
        let bottom = height - 12.0;
        canvas.text((LEFT, bottom), "best known rows", SMALL, Anchor::Start, MUTED);
        canvas.text((RIGHT, bottom), "least known rows", SMALL, Anchor::End, MUTED);
        let svg = canvas.svg();
        let png = canvas.png().map_err(|message| StudyError::Draw { name: self.title.clone(), message })?;
        Ok(Drawing { svg, png })
    }
}

impl Strip {
    fn draw(&self, canvas: &mut Canvas, top: f64) {
        let (above, below) = (top + WORDS, top + WORDS + BAND);
        let room = RIGHT - LEFT - text_width(&self.note, SMALL) - 12.0;
        canvas.text((LEFT, top + 15.0), &shortened(&self.label, room), TEXT, Anchor::Start, INK);
        canvas.text((RIGHT, top + 15.0), &self.note, SMALL, Anchor::End, MUTED);
        for (share, word) in [(0.0, "0"), (0.5, "½"), (1.0, "1")] {
            let y = below - share * BAND;
            canvas.line((LEFT, y), (RIGHT, y), GRID, 1.0);
            canvas.text((LEFT - 6.0, y + 4.0), word, SMALL, Anchor::End, MUTED);
        }
        let mut rows = self.rows.clone();
        rows.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        let columns = rows.len().min(COLUMNS);
        let wide = (RIGHT - LEFT) / columns.max(1) as f64;
        let space = if wide > 6.0 { 1.0 } else { 0.0 };
        // Columns side by side of one height and colour are one rectangle, so that no seams show.
        let mut pending: Option<([f64; 4], [u8; 3])> = None;
        for column in 0..columns {
            let (first, behind) = (column * rows.len() / columns, (column + 1) * rows.len() / columns);
            let Some(&(width, visits)) = rows[first..behind].last() else { continue };
            let x = LEFT + column as f64 * wide;
            // A row that is known exactly still shows that it is there.
            let high = below - (width.clamp(0.0, 1.0) * BAND).max(1.5);
            let corners = [x, high, x + wide - space, below];
            match &mut pending {
                Some((last, rgb)) if space == 0.0 && last[1] == high && *rgb == colour(visits) => last[2] = corners[2],
                Some((last, rgb)) => {
                    rectangle(canvas, *last, *rgb);
                    pending = Some((corners, colour(visits)));
                }
                None => pending = Some((corners, colour(visits))),
            }
        }
        if let Some((corners, rgb)) = pending {
            rectangle(canvas, corners, rgb);
        }
        canvas.line((LEFT, below), (RIGHT, below), INK, 1.0);
        debug_assert!(above < below);
    }
}

fn rectangle(canvas: &mut Canvas, [left, top, right, bottom]: [f64; 4], rgb: [u8; 3]) {
    canvas.area(&[(left, top), (right, top), (right, bottom), (left, bottom)], rgb, 1.0);
}

/// As much of a text as there is room for.
fn shortened(text: &str, room: f64) -> String {
    if text_width(text, TEXT) <= room {
        return text.to_owned();
    }
    let mut out = String::new();
    for c in text.chars() {
        if text_width(&out, TEXT) + f64::from(TEXT) * 1.6 > room {
            break;
        }
        out.push(c);
    }
    out + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_are_drawn_the_same_twice_whatever_their_number_of_rows() {
        for n in [0, 1, 5, 1000] {
            let rows = (0..n).map(|i| (f64::from(i) / f64::from(n), 3000 / u64::from(i as u32 + 1))).collect();
            let strip = Strip { label: "P(x | y) & more".into(), note: format!("{n} rows"), rows };
            let strips = Strips { title: "T".into(), subtitle: "s".into(), strips: vec![strip] };
            let [a, b] = [strips.draw().unwrap(), strips.draw().unwrap()];
            assert_eq!((&a.svg, &a.png), (&b.svg, &b.png));
            assert!(a.svg.contains("P(x | y) &amp; more") && !a.svg.contains("NaN"));
        }
    }
}
