//! Small files: the ways in which each format can be written, and that places are right.

use dowise_formats::{Format, MOST_BYTES, Network, Role, read_graph};

fn read(format: Format, text: &str) -> Network {
    format.read(text, "test").unwrap_or_else(|error| panic!("{error}")).network
}

/// All findings on lines of their own, errors or not.
fn complaints(format: Format, text: &str) -> Vec<String> {
    match format.read(text, "test") {
        Ok(file) => file.findings.iter().map(|f| f.render(std::slice::from_ref(&file.source))).collect(),
        Err(error) => error.to_string().lines().map(str::to_owned).collect(),
    }
}

fn shape(network: &Network) -> Vec<(&str, Vec<&str>)> {
    let name = |i: &usize| network.variables[*i].name.as_str();
    network.variables.iter().map(|v| (v.name.as_str(), v.parents.iter().map(name).collect())).collect()
}

const RAIN: &str = r#"
    network "wet grass" { property "made by hand" ; property version = 2 ; }
    variable rain { type discrete [ 2 ] { no, yes }; property "position = (1, 2)" ; }
    variable "the sprinkler" { type discrete[3]{off,low,high}; }  // quoted
    variable wet { /* both
      kinds of remarks */ type discrete [ 2 ] { dry, wet }; }
"#;

#[test]
fn rows_of_bif_are_found_by_their_labels_and_not_by_their_place() {
    let written = |header: &str, rows: &str| {
        let text = format!("{RAIN} probability ( rain ) {{ table 0.8 0.2 ; }} probability ( {header} ) {{ {rows} }}");
        read(Format::Bif, &text).variables[2].table.clone().unwrap()
    };
    let expected = [0.9, 0.1, 0.6, 0.4, 0.3, 0.7, 0.2, 0.8, 0.5, 0.5, 0.25, 0.75];
    let rows = r#"(no, off) 0.9, 0.1; (no, low) 0.6, 0.4; (no, high) 0.3, 0.7;
                  (yes, off) 0.2, 0.8; (yes, low) 0.5, 0.5; (yes, high) 0.25, 0.75;"#;
    assert_eq!(written(r#"wet | rain, "the sprinkler""#, rows), expected);
    // Commas, bars, blanks and quotes are all the same.
    assert_eq!(written(r#"wet, rain, "the sprinkler""#, rows), expected);
    assert_eq!(written(r#"wet rain "the sprinkler""#, rows), expected);
    let shuffled = r#"(yes "high") 0.25 0.75; (no, low) 0.6, 0.4; (no | high) 0.3 | 0.7;
                      property "of the block" ; (yes, low) 0.5, 0.5; (no, off) 0.9, 0.1; (yes, off) 0.2, 0.8;"#;
    assert_eq!(written(r#"wet | rain, "the sprinkler""#, shuffled), expected);
    let default = r#"default 0.5 0.5; (no, low) 0.6, 0.4; (no, high) 0.3, 0.7; (yes, high) 0.25, 0.75;
                     (no, off) 0.9, 0.1; (yes, off) 0.2, 0.8;"#;
    assert_eq!(written(r#"wet | rain, "the sprinkler""#, default), expected);
    // A whole table begins with all numbers of the variable's first value.
    let table = "table 0.9 0.6 0.3 0.2 0.5 0.25  0.1 0.4 0.7 0.8 0.5 0.75;";
    assert_eq!(written(r#"wet | rain, "the sprinkler""#, table), expected);
}

#[test]
fn bif_keeps_names_properties_and_roles() {
    let text = format!(
        "{RAIN} variable x {{ type discrete [1] {{ \"a \\\"b\\\" c\" }}; property dowise_role = \"next of rain\" ; }}"
    );
    let network = read(Format::Bif, &text);
    assert_eq!(network.name, "wet grass");
    assert_eq!(network.properties, ["made by hand", "version = 2"]);
    assert_eq!(network.variables[0].properties, ["position = (1, 2)"]);
    assert_eq!(network.variables[1].name, "the sprinkler");
    assert_eq!(network.variables[3].values, ["a \"b\" c"]);
    assert_eq!(network.variables[3].role, Some(Role::NextOf("rain".into())));
    assert_eq!(read(Format::Bif, &Format::Bif.write(&network)), network);
    assert_eq!(read(Format::XmlBif, &Format::XmlBif.write(&network)), network);
}

#[test]
fn a_table_that_sums_only_by_rows_is_refused_and_one_that_sums_both_ways_is_said() {
    let text = |numbers: &str| format!("{RAIN} probability ( wet | rain ) {{ table {numbers}; }}");
    let by_rows = complaints(Format::Bif, &text("0.9 0.1 0.2 0.8"));
    assert!(by_rows[0].contains("sums to 1 only if read row by row"), "{by_rows:?}");
    assert_eq!(complaints(Format::Bif, &text("0.9 0.1 0.1 0.9")), [] as [&str; 0], "the same either way");
    let text = |numbers: &str| {
        let cold = "variable cold { type discrete [ 2 ] { no, yes }; }";
        format!("{RAIN} {cold} probability ( wet | rain, cold ) {{ table {numbers}; }}")
    };
    let both = complaints(Format::Bif, &text("0.5 0.5 0.3 0.7  0.5 0.5 0.7 0.3"));
    assert!(both[0].contains("could be read by columns or by rows"), "{both:?}");
}

#[test]
fn rows_that_are_rounded_are_noted_with_the_worst() {
    let text = format!("{RAIN} probability ( wet | rain ) {{ (no) 0.8, 0.19999;\n (yes) 0.7999, 0.2; }}");
    let found = complaints(Format::Bif, &text);
    assert!(
        found[0].contains("2 rows do not sum to 1: furthest off, the row (yes) of \"wet\" sums to 0.9999"),
        "{found:?}"
    );
    assert!(found[0].starts_with("test:8:2: "), "{found:?}");
    let found = complaints(Format::Bif, &format!("{RAIN} probability ( rain ) {{ table 0.78 0.2; }}"));
    assert!(found[0].contains("the distribution of \"rain\" sums to 0.98, not 1"), "{found:?}");
}

#[test]
fn xmlbif_with_a_document_type_is_read_row_by_row() {
    let text = r#"<?xml version="1.0"?>
        <!DOCTYPE BIF [ <!ELEMENT BIF ( NETWORK )*> <!ATTLIST BIF VERSION CDATA #REQUIRED> ]>
        <BIF VERSION="0.3"><NETWORK><NAME>Dog &amp; family</NAME>
        <VARIABLE TYPE="decision"><NAME>family-out</NAME><OUTCOME>true</OUTCOME><OUTCOME>false</OUTCOME></VARIABLE>
        <VARIABLE TYPE="nature"><NAME>light-on</NAME><OUTCOME>true</OUTCOME><OUTCOME>false</OUTCOME></VARIABLE>
        <DEFINITION><FOR>light-on</FOR><GIVEN>family-out</GIVEN>
          <TABLE><!-- family out --> 0.6 0.4 <!-- not --> 0.05 0.95</TABLE></DEFINITION>
        </NETWORK></BIF>"#;
    let network = read(Format::XmlBif, text);
    assert_eq!(network.name, "Dog & family");
    assert_eq!(network.variables[0].role, Some(Role::Lever));
    assert_eq!(network.variables[1].table, Some(vec![0.6, 0.4, 0.05, 0.95]));
}

#[test]
fn expanding_entities_does_not_take_memory_without_end() {
    let mut text = String::from("<!DOCTYPE BIF [ <!ENTITY a0 \"aaaaaaaaaa\">");
    for i in 1..30 {
        let before = format!("&a{};", i - 1).repeat(10);
        text += &format!("<!ENTITY a{i} \"{before}\">");
    }
    text += " ]><BIF><NETWORK><NAME>&a29;</NAME></NETWORK></BIF>";
    assert!(Format::XmlBif.read(&text, "test").is_err());
}

#[test]
fn dagitty_reads_chains_groups_marks_and_arrows_of_all_directions() {
    let text = r#"dag "my graph" {
        bb="0,0,1,1"
        /* a remark */ "smoking status" [e, pos="-1.0,2"] tar [latent] y [outcome]
        "smoking status" -> tar -> y ; y <- {a b} a <-> y [beta=-0.5] # another
    }"#;
    let network = read(Format::Dagitty, text);
    assert_eq!(network.name, "my graph");
    let expected = [
        ("smoking status", vec![]),
        ("tar", vec!["smoking status"]),
        ("y", vec!["tar", "a", "b"]),
        ("a", vec![]),
        ("b", vec![]),
    ];
    assert_eq!(shape(&network), expected);
    assert_eq!(network.bidirected, [[2, 3]]);
    assert_eq!(network.variables[0].properties, ["pos=-1.0,2"]);
    assert_eq!(read(Format::Dagitty, &Format::Dagitty.write(&network)), network);
}

#[test]
fn dot_reads_what_graphviz_reads() {
    let text = r##"
        # a line of the preprocessor
        strict digraph "a graph" {
          rankdir=LR; node [shape=box]; edge [color=red];
          subgraph cluster_0 { label="part"; a -> b:port:n -> c; }
          a:s -> {d "e f"} [label=<<b>x</b>>];
          c -> d [dir=back] ; b -> d [dir=both]
          "x" + "y" -> 3.5 ; -2 -> a
          a [values="low,high\,est", role=lever, label="The A"]
        }"##;
    let network = read(Format::Dot, text);
    let expected = [
        ("a", vec!["-2"]),
        ("b", vec!["a"]),
        ("c", vec!["b", "d"]),
        ("d", vec!["a"]),
        ("e f", vec!["a"]),
        ("xy", vec![]),
        ("3.5", vec!["xy"]),
        ("-2", vec![]),
    ];
    assert_eq!(shape(&network), expected);
    assert_eq!(network.bidirected, [[1, 3]]);
    assert_eq!(network.variables[0].values, ["low", "high,est"]);
    assert_eq!(network.variables[0].role, Some(Role::Lever));
    assert_eq!(read(Format::Dot, &Format::Dot.write(&network)), network);
}

#[test]
fn gml_reads_what_networkx_writes() {
    let text = r#"Creator "somebody"
        graph [ directed 1 name "g"
          node [ id 0 label "a &#34;b&#34; &amp; &#228;" values "_networkx_list_start" values "x" graphics [ x 1.5 y -2 ] ]
          node [ id 7 label "c" values "x" values "y" role "key" ]
          node [ id 8 ]
          edge [ source 0 target 7 weight 1.0 ] edge [ source 7 target 8 bidirected 1 ] ]"#;
    let network = read(Format::Gml, text);
    assert_eq!(shape(&network), [("a \"b\" & ä", vec![]), ("c", vec!["a \"b\" & ä"]), ("8", vec![])]);
    assert_eq!(
        (&network.variables[0].values[..], &network.variables[1].values[..]),
        (&["x".to_owned()][..], &["x".to_owned(), "y".to_owned()][..])
    );
    assert_eq!(network.bidirected, [[1, 2]]);
    assert_eq!(read(Format::Gml, &Format::Gml.write(&network)), network);
}

#[test]
fn all_mistakes_of_a_file_are_said_with_line_and_column() {
    let text = "network n { }\nvariable a { type discrete [ 2 ] { no, yes }; }\nvariable b { type discrete [ 2 ] { no, yes };\n\
                variable c { type continuous; }\nprobability ( b | a ) { (no) 0.5, 0.5; (maybe) 0.5, 0.5; }\n\
                probability ( a ) { table 0.5, 0.4; }\nprobability ( a | d ) { }\nwhat is this\n";
    let found = complaints(Format::Bif, text);
    let places: Vec<&str> = found.iter().map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(places, ["test:4:1", "test:4:19", "test:5:41", "test:6:21", "test:7:15", "test:8:1"], "{found:#?}");
}

#[test]
fn a_circle_is_named() {
    for (format, text) in [(Format::Dagitty, "dag { a -> b -> c -> a }"), (Format::Dot, "digraph { a -> b -> c -> a }")]
    {
        let found = complaints(format, text);
        assert!(found[0].contains("in a circle: \"a\" → \"b\" → \"c\" → \"a\""), "{found:?}");
    }
    assert!(complaints(Format::Dot, "digraph { a -> a }")[0].contains("\"a\" acts on itself"));
}

#[test]
fn deep_nesting_and_large_tables_are_refused() {
    let deep = format!("digraph {{ {} a {} }}", "{".repeat(100_000), "}".repeat(100_000));
    assert!(complaints(Format::Dot, &deep)[0].contains("at most 64 deep"));
    let deep = format!("dag {{ {} a {} }}", "{".repeat(100_000), "}".repeat(100_000));
    assert!(complaints(Format::Dagitty, &deep)[0].contains("at most 64 deep"));
    let deep = format!("graph [ {} {} ]", "a [ ".repeat(100_000), "] ".repeat(100_000));
    assert!(complaints(Format::Gml, &deep)[0].contains("at most 64 deep"));
    let names: Vec<String> = (0..40).map(|i| format!("v{i}")).collect();
    let variables: String =
        names.iter().map(|n| format!("variable {n} {{ type discrete [ 2 ] {{ a, b }}; }}\n")).collect();
    let text = format!("{variables} probability ( v0 | {} ) {{ default 0.5 0.5; }}", names[1..].join(", "));
    assert!(
        complaints(Format::Bif, &text)[0].contains("more than 33554432 entries"),
        "{:?}",
        complaints(Format::Bif, &text)
    );
}

#[test]
fn compressed_files_are_unpacked_up_to_the_limit() {
    use std::io::Write;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.dot.gz");
    let mut packed = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    packed.write_all(b"digraph { a -> b }").unwrap();
    packed.write_all(&vec![b' '; MOST_BYTES as usize]).unwrap();
    std::fs::write(&path, packed.finish().unwrap()).unwrap();
    let error = read_graph(&path, None).unwrap_err().to_string();
    assert!(error.contains("more than 67108864 bytes"), "{error}");
    std::fs::write(&path, [0x1f, 0x8b, 1, 2, 3]).unwrap();
    let error = read_graph(&path, None).unwrap_err().to_string();
    assert!(error.contains("damaged"), "{error}");
}
