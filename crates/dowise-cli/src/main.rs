//! The program `dowise`.

fn main() {}
