//! The formats by name, and which one a file has.

use std::path::Path;

use dowise::WorldError;
use dowise::world::{Problem, Source};

use crate::limits::read_text;
use crate::network::{GraphFile, Network};
use crate::{bif, dagitty, dot, gml, xmlbif};

/// A format of graphs or networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Bayesian network interchange format.
    Bif,
    /// The same in XML.
    XmlBif,
    /// DAGitty's model code.
    Dagitty,
    /// The language of Graphviz.
    Dot,
    /// Graph modelling language.
    Gml,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 5] = [Format::Bif, Format::XmlBif, Format::Dagitty, Format::Dot, Format::Gml];

    /// Its name: `bif`, `xmlbif`, `dagitty`, `dot`, `gml`.
    pub fn name(self) -> &'static str {
        match self {
            Format::Bif => "bif",
            Format::XmlBif => "xmlbif",
            Format::Dagitty => "dagitty",
            Format::Dot => "dot",
            Format::Gml => "gml",
        }
    }

    /// The format of this name.
    pub fn of_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Whether it has a place for probabilities.
    pub fn has_numbers(self) -> bool {
        match self {
            Format::Bif | Format::XmlBif => true,
            Format::Dagitty | Format::Dot | Format::Gml => false,
        }
    }

    /// The format that a file's name says it has; `.gz` at the end is passed over.
    pub fn of_path(path: &Path) -> Option<Format> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        match name.rsplit_once('.')?.1 {
            "bif" => Some(Format::Bif),
            "xmlbif" | "xbif" | "xml" => Some(Format::XmlBif),
            "dagitty" | "txt" => Some(Format::Dagitty),
            "dot" | "gv" => Some(Format::Dot),
            "gml" => Some(Format::Gml),
            _ => None,
        }
    }

    /// Reads a text; `name` is shown in messages.
    pub fn read(self, text: &str, name: &str) -> Result<GraphFile, WorldError> {
        let source = Source { name: name.to_owned(), text: text.to_owned() };
        match self {
            Format::Bif => bif::read(source),
            Format::XmlBif => xmlbif::read(source),
            Format::Dagitty => dagitty::read(source),
            Format::Dot => dot::read(source),
            Format::Gml => gml::read(source),
        }
    }

    /// Writes a network; [`Format::read`] reads it back. DAGitty, DOT and GML have no place for numbers, BIF and XMLBIF none
    /// for bidirected edges.
    pub fn write(self, network: &Network) -> String {
        match self {
            Format::Bif => bif::write(network),
            Format::XmlBif => xmlbif::write(network),
            Format::Dagitty => dagitty::write(network),
            Format::Dot => dot::write(network),
            Format::Gml => gml::write(network),
        }
    }
}

/// Reads a graph file, compressed by gzip or not; without a format, its name says which it has.
pub fn read_graph(path: &Path, format: Option<Format>) -> Result<GraphFile, WorldError> {
    let name = path.display().to_string();
    let Some(format) = format.or_else(|| Format::of_path(path)) else {
        let message = format!("the name of {name} does not say which format it has");
        let help = "let it end in .bif, .xmlbif, .dagitty (or .txt), .dot or .gml, or name the format (--from)";
        return Err(WorldError { problems: vec![Problem::error("format", message).help(help)], sources: vec![] });
    };
    format.read(&read_text(path)?, &name)
}
