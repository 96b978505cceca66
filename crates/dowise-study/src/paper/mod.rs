//! The paper's three experiments and what a careful reader asks beyond them: studies, claims, figures, documents.

mod claims;
mod document;
mod extras;
mod figures;
mod html;
mod parts;
mod published;
mod results;
mod rules;

pub use claims::{Claim, Finals, check};
pub use document::markdown;
pub use figures::figures;
pub use html::html;
pub use parts::{Part, ReproductionSize};
pub use published::{Published, published};
pub use results::{Results, refuse_other_sizes};
pub use rules::{ExplorationRule, rules};
