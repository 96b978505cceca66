//! What the program prints, compared with the files in `cmd/`.

#[test]
fn the_program_prints_what_the_files_say() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd").env("NO_COLOR", "1").run();
}
