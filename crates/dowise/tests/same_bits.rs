//! The same bits whatever functions the operating system has: worlds, plans and learners, in a process whose system library
//! was given that the processor has no fused multiply-add.

use std::process::Command;

use dowise::{Agent, Arena, LearnerSpec, Preset, World, worlds};

/// Read by the system's library when a process starts; the names of the features differ between its versions.
const NO_FMA: &str = "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F,-AVX2_Usable,-FMA_Usable,-FMA4_Usable,-AVX512F_Usable";

#[derive(Debug, PartialEq)]
struct Hashes {
    ours: String,
    systems: String,
}

/// FNV-1a.
struct Hash(u64);

impl Hash {
    fn add(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&b| self.0 = (self.0 ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    }

    fn add_numbers(&mut self, numbers: &[f64]) {
        numbers.iter().for_each(|x| self.add(&x.to_bits().to_le_bytes()));
    }
}

fn worlds_of_every_kind() -> Vec<World> {
    let named = ["treatment", "river-swim"];
    let mut all: Vec<World> = named.iter().map(|name| worlds::world(name, &[]).unwrap()).collect();
    all.push(World::new(worlds::Paper::default().spec().unwrap()).unwrap());
    all.push(worlds::Linear { distance: 0.1, ..Default::default() }.world().unwrap());
    all
}

/// World, plan, what learners did, what it was worth, and all that they know in the end.
fn everything() -> Hash {
    let mut hash = Hash(0xcbf2_9ce4_8422_2325);
    let mut runs = 0;
    for world in worlds_of_every_kind() {
        hash.add(world.to_toml().as_bytes());
        let arena = Arena::new(&world).unwrap();
        hash.add_numbers(&arena.best().value_hs);
        let widths = ["c-ucbvi:width=paper", "cf-ucbvi:sets=kl", "c-ucbvi:width=bernstein"].map(String::from);
        for name in Preset::all().iter().map(|preset| preset.name().to_owned()).chain(widths) {
            let spec: LearnerSpec = name.parse().unwrap();
            // Some need features, or few interventions.
            let Ok(mut learner) = spec.learner(&world, 6, 7) else { continue };
            let mut run = arena.run(7);
            for _ in 0..6 {
                hash.add_numbers(&[run.episode(&mut learner).regret]);
            }
            learner.begin_episode();
            hash.add_numbers(&learner.plan().value_hs);
            hash.add(learner.save().as_bytes());
            runs += 1;
        }
    }
    assert!(runs > 40, "only {runs} runs");
    hash
}

/// The same of the system's functions: the control, which shows that the library was given something.
fn systems() -> Hash {
    let mut hash = Hash(0xcbf2_9ce4_8422_2325);
    for i in 1..200_000 {
        let x = f64::from(std::hint::black_box(i)) * 1e-4;
        hash.add_numbers(&[x.ln(), (-x).exp(), x.powf(0.3), x.sin()]);
    }
    hash
}

/// Not a test of its own: what the child processes of the next one print.
#[test]
#[ignore = "for the other test"]
#[allow(clippy::print_stdout)] // read by the parent process
fn print_hashes() {
    println!("ours {:016x} systems {:016x}", everything().0, systems().0);
}

fn child(tunables: &str) -> Hashes {
    let this = std::env::current_exe().unwrap();
    let mut command = Command::new(this);
    command.args(["--exact", "print_hashes", "--nocapture", "--ignored"]).env("GLIBC_TUNABLES", tunables);
    let out = command.output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    let words: Vec<&str> = text.split_whitespace().skip_while(|word| *word != "ours").collect();
    let [_, ours, _, systems, ..] = words[..] else { panic!("{text}{}", String::from_utf8_lossy(&out.stderr)) };
    Hashes { ours: ours.into(), systems: systems.into() }
}

#[test]
fn results_do_not_depend_on_the_functions_of_the_operating_system() {
    let (with, without) = (child(""), child(NO_FMA));
    assert_eq!(with.ours, without.ours);
    #[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
    if std::is_x86_feature_detected!("fma") {
        assert_ne!(
            with.systems, without.systems,
            "the system's library was not known, so that this test shows nothing"
        );
    }
}
