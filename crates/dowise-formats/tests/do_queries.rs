//! Marginals and P(keys | do(levers)) of imported worlds agree with an independent engine, pgmpy (`queries.py`).

use std::collections::BTreeMap;
use std::path::Path;

use dowise::kernel::Kernel;
use dowise::world::{Given, GivenValue, SetSpec};
use dowise_formats::{Payment, Roles, import, read_graph};
use serde_json::Value;

fn strings(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_owned()).collect()
}

#[test]
fn marginals_and_interventions_agree_with_an_independent_engine() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let queries: Value = serde_json::from_str(&std::fs::read_to_string(folder.join("queries.json")).unwrap()).unwrap();
    let queries = queries.as_array().unwrap();
    assert!(queries.len() >= 100);
    let mut moved = 0;
    for query in queries {
        let (levers, keys) = (strings(&query["levers"]), strings(&query["keys"]));
        let name = query["network"].as_str().unwrap();
        let file = read_graph(&folder.join(format!("networks/{name}.bif.gz")), None).unwrap();
        let located = |names: &[String]| names.iter().map(|n| n.as_str().into()).collect();
        // Whatever is paid acts, and what acts is a cause.
        let paid = |key: &String| {
            let value = file.network.variables[file.network.find(key).unwrap()].values[0].as_str().into();
            Payment { variable: key.as_str().into(), value: Some(value), amount: 1.0.into() }
        };
        let roles = Roles {
            levers: located(&levers),
            keys: located(&keys),
            rewards: keys.iter().map(paid).collect(),
            set: Some(SetSpec::Any),
            ..Roles::default()
        };
        let world = import(&file, &roles, None).unwrap_or_else(|e| panic!("{name}: {e}")).world;
        let kernel = Kernel::new(&world).unwrap_or_else(|e| panic!("{name}: {e}"));
        let set: BTreeMap<&str, &str> =
            query["do"].as_object().unwrap().iter().map(|(k, v)| (k.as_str(), v.as_str().unwrap())).collect();
        let given = set.iter().map(|(&k, &v)| (k.to_owned(), GivenValue::Name(v.to_owned()))).collect();
        let action = world.read_action(&Given::Named(given)).unwrap();
        let mut found = vec![0.0; kernel.n_causes()];
        kernel.distribution(0, action, &mut found);

        let values: Vec<Vec<String>> = keys.iter().map(|k| strings(&query["values"][k])).collect();
        let mut n = 0;
        for (cause, &p) in found.iter().enumerate() {
            let position = (0..keys.len()).fold(0, |position, k| {
                let at = kernel.causes().variables().iter().position(|&v| world.variable(v).name == keys[k]).unwrap();
                let value = &world.variable(kernel.causes().variables()[at]).values[kernel.causes().digit(cause, at)];
                position * values[k].len() + values[k].iter().position(|v| v == value).unwrap()
            });
            let expected = query["p"][position].as_f64().unwrap();
            assert!((p - expected).abs() < 1e-9, "{name}: {set:?} → {keys:?} {position}: {p} instead of {expected}");
            n += 1;
        }
        assert_eq!(n, query["p"].as_array().unwrap().len());
        moved += usize::from(!set.is_empty());
    }
    assert!(moved >= 50, "{moved} interventions");
}
