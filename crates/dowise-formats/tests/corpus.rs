//! The networks that come with pgmpy are read, and written and read again as the same networks.

use std::path::{Path, PathBuf};

use dowise_formats::{Format, Network, Role, read_graph};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/networks")
}

fn network(name: &str) -> Network {
    read_graph(&folder().join(name), None).unwrap_or_else(|error| panic!("{error}")).network
}

fn files(ending: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.filter(|name| name.ends_with(ending)).collect();
    names.sort();
    names
}

/// Variables, edges and free parameters of each network: pinned, so that a reader that loses some of them fails.
const NETWORKS: [(&str, usize, usize, usize); 24] = [
    ("alarm", 37, 46, 509),
    ("andes", 223, 338, 1157),
    ("asia", 8, 8, 18),
    ("barley", 48, 84, 114005),
    ("cancer", 5, 4, 10),
    ("child", 20, 25, 230),
    ("diabetes", 413, 602, 429409),
    ("earthquake", 5, 4, 10),
    ("hailfinder", 56, 66, 2656),
    ("hepar2", 70, 123, 1453),
    ("insurance", 27, 52, 1008),
    ("link", 724, 1125, 14211),
    ("mildew", 35, 46, 540150),
    ("munin", 1041, 1397, 80592),
    ("munin1", 186, 273, 15622),
    ("munin2", 1003, 1244, 69431),
    ("munin3", 1041, 1306, 71059),
    ("munin4", 1038, 1388, 80352),
    ("pathfinder", 109, 195, 72079),
    ("pigs", 441, 592, 5618),
    ("sachs", 11, 17, 178),
    ("survey", 6, 6, 21),
    ("water", 32, 66, 10083),
    ("win95pts", 76, 112, 574),
];

/// Variables, directed and bidirected edges.
const GRAPHS: [(&str, usize, usize, usize); 12] = [
    ("Acid_1996", 18, 22, 0),
    ("Didelez_2010", 7, 11, 0),
    ("Kampen_2014", 12, 24, 0),
    ("M-bias", 3, 1, 2),
    ("Polzer_2012", 14, 69, 0),
    ("Schipf_2010", 7, 14, 0),
    ("Sebastiani_2005", 36, 60, 0),
    ("Shrier_2008", 13, 19, 0),
    ("Thoemmes_2013", 13, 14, 0),
    ("confounding", 5, 7, 0),
    ("mediator", 4, 5, 0),
    ("paths", 17, 19, 0),
];

#[test]
fn every_network_has_the_variables_edges_and_parameters_that_its_publishers_state() {
    assert_eq!(files(".bif.gz"), NETWORKS.map(|n| format!("{}.bif.gz", n.0)));
    for (name, variables, edges, parameters) in NETWORKS {
        let network = network(&format!("{name}.bif.gz"));
        let free = |(i, v): (usize, &dowise_formats::Variable)| network.n_rows(i) * (v.values.len() - 1);
        let free: usize = network.variables.iter().enumerate().map(free).sum();
        assert_eq!((network.variables.len(), network.n_edges(), free), (variables, edges, parameters), "{name}");
        assert!(network.variables.iter().all(|v| v.table.is_some()), "{name}");
    }
}

#[test]
fn every_graph_of_dagitty_is_read_whole() {
    assert_eq!(files(".txt"), GRAPHS.map(|n| format!("{}.txt", n.0)));
    for (name, variables, edges, bidirected) in GRAPHS {
        let network = network(&format!("{name}.txt"));
        let sizes = (network.variables.len(), network.n_edges(), network.bidirected.len());
        assert_eq!(sizes, (variables, edges, bidirected), "{name}");
        let marked = |role: Role| network.variables.iter().filter(|v| v.role == Some(role.clone())).count();
        assert_eq!((marked(Role::Lever), marked(Role::Key)), (1, 1), "{name}");
    }
    assert_eq!(network("Thoemmes_2013.txt").variables.iter().filter(|v| v.role == Some(Role::Hidden)).count(), 4);
}

fn again(network: &Network, format: Format) -> Network {
    let text = format.write(network);
    format.read(&text, format.name()).unwrap_or_else(|error| panic!("{error}\n{text:.2000}")).network
}

#[test]
fn every_network_is_the_same_after_being_written_and_read_with_its_numbers() {
    for name in files(".bif.gz") {
        let network = network(&name);
        for format in [Format::Bif, Format::XmlBif] {
            assert!(again(&network, format) == network, "{name} in {}", format.name());
        }
    }
}

#[test]
fn every_graph_is_the_same_after_being_written_and_read_without_numbers() {
    for name in [files(".bif.gz"), files(".txt")].concat() {
        let mut network = network(&name);
        network.variables.iter_mut().for_each(|v| v.table = None);
        for format in [Format::Dagitty, Format::Dot, Format::Gml] {
            let mut expected = network.clone();
            match format {
                Format::Dagitty => expected.variables.iter_mut().for_each(|v| v.values.clear()),
                _ => expected.variables.iter_mut().for_each(|v| v.properties.clear()),
            }
            assert!(again(&network, format) == expected, "{name} in {}", format.name());
        }
    }
}
