//! What the program prints, compared with the files in `cmd/` and, for a narrow terminal, in `cmd-narrow/`.

#[test]
fn the_program_prints_what_the_files_say() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd").env("NO_COLOR", "1").env("COLUMNS", "").run();
}

#[test]
fn a_narrow_terminal_is_kept_to() {
    trycmd::TestCases::new().case("tests/cmd-narrow/*.trycmd").env("NO_COLOR", "1").env("COLUMNS", "60").run();
    let printed = include_str!("cmd-narrow/narrow.trycmd");
    let wide: Vec<&str> = printed.lines().filter(|line| line.chars().count() > 60 && !line.starts_with("$ ")).collect();
    assert!(wide.is_empty(), "{wide:#?}");
}
