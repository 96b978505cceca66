//! Files are written whole or not at all, onto files only, and read within limits.
#![cfg(unix)]

mod temp_dir;

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use dowise_study::{check_writable, read_text_file, write_file};
use temp_dir::TempDir;

fn says<T: std::fmt::Debug>(result: Result<T, dowise_study::StudyError>) -> String {
    let error = result.unwrap_err();
    assert!(error.is_io(), "{error}");
    error.to_string()
}

fn fifo(at: &Path) -> PathBuf {
    let path = at.join("pipe");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

fn names(at: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(at).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_link_stays_a_link_and_its_file_is_written() {
    let at = TempDir::with("links");
    std::fs::create_dir(at.join("far")).unwrap();
    std::fs::write(at.join("far/file"), "old").unwrap();
    symlink("far/file", at.join("one")).unwrap();
    symlink(at.join("one"), at.join("two")).unwrap();
    symlink("far/new", at.join("dangling")).unwrap();
    for (link, file) in [("one", "far/file"), ("two", "far/file"), ("dangling", "far/new")] {
        write_file(&at.join(link), link.as_bytes()).unwrap();
        assert_eq!(std::fs::read_to_string(at.join(file)).unwrap(), link);
        assert!(at.join(link).is_symlink());
    }
    symlink("there", at.join("here")).unwrap();
    symlink("here", at.join("there")).unwrap();
    assert!(says(write_file(&at.join("here"), b"x")).contains("here: its symbolic links lead in a circle"));
    assert!(says(read_text_file(&at.join("here"), 9)).contains("cannot read"));
}

#[test]
fn only_files_are_replaced() {
    let at = TempDir::with("special");
    std::fs::create_dir(at.join("dir")).unwrap();
    let pipe = fifo(&at);
    symlink("/dev/full", at.join("full")).unwrap();
    std::fs::write(at.join("kept"), "mine").unwrap();
    std::fs::set_permissions(at.join("kept"), Permissions::from_mode(0o444)).unwrap();
    let cases = [
        (at.join("dir"), "it is a directory; give the name of a file"),
        (pipe, "it is a named pipe;"),
        (PathBuf::from("/dev/null"), "it is a device;"),
        (at.join("full"), "it is a device;"),
        (PathBuf::from("/dev/stdout"), "it stands for an open file of a process"),
        (at.join("kept"), "it is read-only; make it writable or give another name"),
        (at.join(".."), "it is the name of a directory; give the name of a file"),
        (at.join("new/"), "it is the name of a directory; give the name of a file"),
        (at.join("kept/below"), "cannot write"),
    ];
    for (path, why) in cases {
        for error in [says(write_file(&path, b"x")), says(check_writable(&path))] {
            assert!(error.contains(why) && error.contains(&path.display().to_string()), "{error}");
        }
    }
    assert_eq!(std::fs::read_to_string(at.join("kept")).unwrap(), "mine");
    assert!(!Path::new("/dev/null").metadata().unwrap().is_file());
    assert_eq!(names(&at), ["dir", "full", "kept", "pipe"]);
}

#[test]
fn permissions_are_kept_and_names_may_be_long_or_odd() {
    let at = TempDir::with("names");
    std::fs::write(at.join("private"), "old").unwrap();
    std::fs::set_permissions(at.join("private"), Permissions::from_mode(0o600)).unwrap();
    write_file(&at.join("private"), b"new").unwrap();
    assert_eq!(at.join("private").metadata().unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::create_dir(at.join("odd")).unwrap();
    for name in ["x".repeat(255), "two\nlines".into(), ".dowise-".into(), "-".into(), "ü".repeat(127)] {
        write_file(&at.join("odd").join(&name), name.as_bytes()).unwrap();
        assert_eq!(read_text_file(&at.join("odd").join(&name), 1000).unwrap(), name);
    }
    assert_eq!(names(&at.join("odd")).len(), 5);
    assert!(says(write_file(&at.join("x".repeat(256)), b"")).contains("File name too long"));
}

#[test]
fn what_a_killed_writer_left_is_swept_and_what_a_living_one_writes_is_not() {
    let at = TempDir::with("swept");
    // The name of the temporary files of a target shows while one is written: a limit on files makes none, so it is watched.
    let prefix = format!(".dowise-{}-", &dowise::saved::checksum(b"file")[..16]);
    let (dead, living, other) =
        (format!("{prefix}aaaaaa.part"), format!("{prefix}bbbbbb.part"), ".dowise-0000000000000000-c.part".to_owned());
    for name in [&dead, &living, &other] {
        std::fs::write(at.join(name), "half").unwrap();
    }
    let held = std::fs::File::open(at.join(&living)).unwrap();
    held.lock().unwrap();
    write_file(&at.join("file"), b"whole").unwrap();
    let mut left = vec![other.clone(), living.clone(), "file".to_owned()];
    left.sort();
    assert_eq!(names(&at), left);
    drop(held);
    write_file(&at.join("file"), b"whole").unwrap();
    assert_eq!(names(&at), [other, "file".to_owned()]);
}

#[test]
fn many_writers_of_one_file_never_show_half_of_it() {
    let at = TempDir::with("writers");
    let file = at.join("file");
    write_file(&file, &[b'0'; 50_000]).unwrap();
    std::thread::scope(|scope| {
        for byte in b"12345" {
            let file = &file;
            scope.spawn(move || {
                for _ in 0..20 {
                    write_file(file, &[*byte; 50_000]).unwrap();
                    let text = read_text_file(file, 50_000).unwrap();
                    assert!(text.len() == 50_000 && text.bytes().all(|b| b == text.as_bytes()[0]));
                }
            });
        }
    });
    assert_eq!(names(&at), ["file"]);
}

#[test]
fn only_files_within_their_limit_are_read() {
    let at = TempDir::with("read");
    std::fs::write(at.join("ten"), "0123456789").unwrap();
    assert_eq!(read_text_file(&at.join("ten"), 10).unwrap(), "0123456789");
    assert!(says(read_text_file(&at.join("ten"), 9)).contains("it has more than 9 bytes"));
    // A file that does not say how long it is, and never ends.
    assert!(says(read_text_file(Path::new("/dev/zero"), 10)).contains("it is a device, not a regular file"));
    // One that says 0 and has more.
    assert!(says(read_text_file(Path::new("/proc/self/status"), 10)).contains("it has more than 10 bytes"));
    assert!(says(read_text_file(&fifo(&at), 10)).contains("it is a named pipe"));
    assert!(says(read_text_file(&at, 10)).contains("it is a directory"));
    std::fs::write(at.join("latin"), b"a\nb\xfc").unwrap();
    assert!(says(read_text_file(&at.join("latin"), 10)).contains("not written in UTF-8: byte 3, on line 2"));
    // Sparse, so it takes no room: refused by its length, before it is read.
    std::fs::File::create(at.join("huge")).unwrap().set_len(1 << 40).unwrap();
    assert!(says(read_text_file(&at.join("huge"), dowise_study::MOST_TEXT)).contains("(64 MiB)"));
}
