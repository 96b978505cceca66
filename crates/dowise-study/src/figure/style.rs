//! Colours that colour-blind readers can distinguish (Okabe and Ito), dashes and markers for print without colour.

/// How a line is dashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dash {
    /// Not at all.
    Solid,
    /// Long dashes.
    Dashed,
    /// Short dashes.
    Dotted,
}

/// How points are marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// ●
    Circle,
    /// ■
    Square,
    /// ▲
    Triangle,
    /// ◆
    Diamond,
}

/// How a series looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Red, green, blue.
    pub colour: [u8; 3],
    /// Dashes.
    pub dash: Dash,
    /// Marker of points.
    pub marker: Marker,
}

const BLACK: [u8; 3] = [0, 0, 0];
const ORANGE: [u8; 3] = [230, 159, 0];
const SKY: [u8; 3] = [86, 180, 233];
const GREEN: [u8; 3] = [0, 158, 115];
const BLUE: [u8; 3] = [0, 114, 178];
const VERMILION: [u8; 3] = [213, 94, 0];
const PURPLE: [u8; 3] = [204, 121, 167];
const GREY: [u8; 3] = [120, 120, 120];

/// For learners without a colour of their own.
const OTHERS: [[u8; 3]; 7] = [BLUE, VERMILION, GREEN, PURPLE, SKY, ORANGE, BLACK];

impl Style {
    /// The style of a learner, the same in every figure: colour by what it knows, dashes by how it explores.
    /// `position` tells learners apart that have no style of their own.
    pub fn of_learner(name: &str, position: usize) -> Style {
        let dash = if name.ends_with("psrl") || name.ends_with("rlsvi") { Dash::Dashed } else { Dash::Solid };
        let style = |colour, marker| Style { colour, dash, marker };
        match name {
            "ucbvi" | "psrl" => style(BLACK, Marker::Square),
            "f-ucbvi" | "f-psrl" => style(ORANGE, Marker::Triangle),
            "c-ucbvi" | "c-psrl" => style(BLUE, Marker::Circle),
            "cf-ucbvi" | "cf-psrl" => style(GREEN, Marker::Diamond),
            "graph-ucbvi" | "graph-psrl" => style(VERMILION, Marker::Circle),
            "lsvi-ucb" => style(ORANGE, Marker::Diamond),
            "c-lsvi-ucb" | "c-rlsvi" | "c-blsvi" => style(PURPLE, Marker::Diamond),
            "greedy" => style(PURPLE, Marker::Triangle),
            "epsilon-greedy" => style(SKY, Marker::Square),
            "uniform" => Style { colour: GREY, dash: Dash::Dotted, marker: Marker::Circle },
            _ => Style::at(position),
        }
    }

    /// The style at a position, for series that are not distinguished by learner.
    pub fn at(position: usize) -> Style {
        let marker = [Marker::Circle, Marker::Square, Marker::Triangle, Marker::Diamond][position % 4];
        let dash = [Dash::Solid, Dash::Dashed, Dash::Dotted][position / OTHERS.len() % 3];
        Style { colour: OTHERS[position % OTHERS.len()], dash, marker }
    }

    /// The colour for text: darker where the colour itself is too pale to read on white.
    pub(crate) fn text_colour(&self) -> [u8; 3] {
        let [r, g, b] = self.colour.map(f64::from);
        let light = 0.2126 * r + 0.7152 * g + 0.0722 * b;
        let most = 115.0;
        if light <= most { self.colour } else { self.colour.map(|c| (f64::from(c) * most / light) as u8) }
    }
}
