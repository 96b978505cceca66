//! The small worlds that the tests share.

use dowise::World;
use dowise::world::SetSpec;

use crate::draft::Draft;

/// Two factors, one with three values; two levers; two key variables, one of them seen by one factor only.
pub(crate) fn factored(seed: u64) -> World {
    Draft::new(3, seed)
        .state("s1", 2)
        .state("s2", 3)
        .lever("x1", 3)
        .lever("x2", 2)
        .key("z1", 2)
        .key("z2", 3)
        .drawn(&["z1"], &["s1", "x1"])
        .drawn(&["z2"], &["x2", "s2"])
        .next("s1", &["s1", "z1"])
        .next("s2", &["s1", "s2", "z1", "z2"])
        .pays_between("r1", &["s1", "z1"], [0.0, 0.4], false)
        .pays_between("r2", &["s2", "z2"], [0.0, 0.6], false)
        .world()
}

/// One factor with three values and one key variable: nothing to factor.
pub(crate) fn one_factor(seed: u64) -> World {
    Draft::new(4, seed)
        .state("s", 3)
        .lever("x1", 2)
        .lever("x2", 2)
        .key("z", 3)
        .drawn(&["z"], &["s", "x1", "x2"])
        .next("s", &["s", "z"])
        .pays_between("r", &["s", "z"], [0.0, 1.0], false)
        .world()
}

/// Three binary factors and key variables that every factor sees.
pub(crate) fn all_keys(seed: u64) -> World {
    Draft::new(3, seed)
        .state("s1", 2)
        .state("s2", 2)
        .state("s3", 2)
        .lever("x1", 2)
        .lever("x2", 2)
        .key("z1", 2)
        .key("z2", 2)
        .drawn(&["z1", "z2"], &["x1", "x2", "s3"])
        .next("s1", &["s1", "z1", "z2"])
        .next("s2", &["s1", "s2", "z1", "z2"])
        .next("s3", &["s3", "z1", "z2"])
        .pays_between("r1", &["s1", "z1"], [0.0, 0.5], false)
        .pays_between("r2", &["s2", "s3", "z2"], [0.0, 0.5], false)
        .world()
}

/// Levers that may be left alone and cost something, a hidden variable, rewards below nought, a lever that acts directly.
pub(crate) fn crooked(seed: u64) -> World {
    Draft::new(3, seed)
        .state("s1", 2)
        .state("s2", 2)
        .lever("x1", 2)
        .cost(&[0.05, 0.1])
        .lever("x2", 3)
        .cost(&[0.0, 0.02, 0.2])
        .key("z1", 2)
        .hidden("u", 2)
        .drawn(&["x1"], &["s1"])
        .drawn(&["x2"], &[])
        .drawn(&["u"], &["x1"])
        .drawn(&["z1"], &["u", "x2", "s2"])
        .next("s1", &["s1", "z1"])
        .next("s2", &["s2", "x2"])
        .pays_between("r1", &["s1", "z1"], [-0.5, 0.5], false)
        .pays_between("r2", &["s2", "x2"], [-0.2, 0.3], false)
        .set(SetSpec::Any)
        .world()
}

/// Each intervention has a key value of its own that it certainly sets off.
pub(crate) fn point_masses(seed: u64) -> World {
    let identity = (0..16).map(|i| f64::from(u8::from(i / 4 == i % 4))).collect();
    Draft::new(3, seed)
        .state("s", 3)
        .lever("x", 4)
        .key("z", 4)
        .given(&["z"], &["x"], identity)
        .next("s", &["s", "z"])
        .pays_between("r", &["s", "z"], [0.0, 1.0], false)
        .world()
}
