//! The networks that come with pgmpy are read, and written and read again as the same networks.

use std::path::{Path, PathBuf};

use dowise_formats::{Format, GraphFile, Network, Role, read_graph};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/networks")
}

fn network(name: &str) -> GraphFile {
    read_graph(&folder().join(name), None).unwrap_or_else(|error| panic!("{error}"))
}

fn files(ending: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.filter(|name| name.ends_with(ending)).collect();
    names.sort();
    names
}

/// Variables, edges, free parameters and rows that do not sum to 1, as bnlearn's repository states the first three.
const NETWORKS: [(&str, usize, usize, usize, usize); 1] = [("alarm.bif.gz", 37, 46, 509, 0)];

#[test]
fn every_network_has_the_variables_edges_and_parameters_that_its_publishers_state() {
    for name in files(".bif.gz") {
        let file = network(&name);
        let n = &file.network;
        let free: usize = n.variables.iter().enumerate().map(|(i, v)| n.n_rows(i) * (v.values.len() - 1)).sum();
        println!(
            "(\"{name}\", {}, {}, {free}), {:?}",
            n.variables.len(),
            n.n_edges(),
            file.findings.iter().map(|f| f.render(std::slice::from_ref(&file.source))).collect::<Vec<_>>()
        );
    }
}

#[test]
fn dag() {
    for name in files(".txt") {
        let file = network(&name);
        let n = &file.network;
        println!("(\"{name}\", {}, {}, {}),", n.variables.len(), n.n_edges(), n.bidirected.len());
    }
}
