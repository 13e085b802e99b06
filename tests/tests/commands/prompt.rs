//! The prompt of `sluice sql`, on a terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;
use tests::World;
use tokio::process::Child;
use tokio::time::timeout;

use super::command;

const PATIENCE: Duration = Duration::from_secs(90);
const SIZE: Winsize = Winsize { ws_row: 40, ws_col: 160, ws_xpixel: 0, ws_ypixel: 0 };
/// How a program asks a terminal where the cursor is, and a terminal's answer.
const WHERE: &str = "\x1b[6n";
const HERE: &[u8] = b"\x1b[1;1R";

/// The other side of a terminal that `sluice sql` runs on.
struct Terminal {
    child: Child,
    keyboard: File,
    screen: mpsc::Receiver<Vec<u8>>,
    seen: String,
    answered: usize,
}

impl Terminal {
    fn start(world: &World, home: &TempDir) -> Self {
        let pty = openpty(&SIZE, None).unwrap();
        let side = |fd: &OwnedFd| Stdio::from(fd.try_clone().unwrap());
        let mut command = command(world, &world.key, &["sql"]);
        command.stdin(side(&pty.slave)).stdout(side(&pty.slave)).stderr(side(&pty.slave)).env("HOME", home.path());
        let child = command.env("TERM", "xterm").spawn().unwrap();
        drop((command, pty.slave)); // the terminal hangs up when the child ends
        let mut output = File::from(pty.master.try_clone().unwrap());
        let (sender, screen) = mpsc::channel();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut piece) {
                if sender.send(piece[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { child, keyboard: File::from(pty.master), screen, seen: String::new(), answered: 0 }
    }

    fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Until this is on the screen; what stood there before is forgotten.
    fn sees(&mut self, text: &str) {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.seen.find(text) {
                let behind = self.seen.split_off(at + text.len());
                self.answered = self.answered.saturating_sub(self.seen.matches(WHERE).count());
                self.seen = behind;
                return;
            }
            let left = end.saturating_duration_since(Instant::now());
            let piece = self.screen.recv_timeout(left);
            let piece = piece.unwrap_or_else(|_| panic!("{text:?} is not on the screen: {:?}", self.seen));
            self.seen.push_str(&String::from_utf8_lossy(&piece));
            let asked = self.seen.matches(WHERE).count();
            for _ in self.answered..asked {
                self.keyboard.write_all(HERE).unwrap();
            }
            self.answered = asked;
        }
    }

    /// Waits for the next prompt: what is pressed before it is on the screen meets no prompt.
    fn prompted(&mut self) {
        self.sees(WHERE); // asked once for each
        self.sees("sluice> ");
    }

    async fn ends_well(mut self) {
        assert!(timeout(PATIENCE, self.child.wait()).await.expect("the prompt does not end").unwrap().success());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_are_typed_over_lines_and_their_rows_shown() {
    let world = World::new().await;
    let home = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::start(&world, &home);
    terminal.prompted();
    terminal.press("select name from customers\r");
    terminal.press("where id = 2;\r");
    terminal.sees("Bob");
    terminal.sees("(1 row)");
    terminal.prompted();
    terminal.press("slct 1;\r");
    terminal.sees("SVC_ERR_400_BAD_SQL");
    terminal.prompted();
    terminal.press("\\output csv\r");
    terminal.prompted();
    terminal.press("select id, name from customers where id = 3;\r");
    terminal.sees("3,Carol");
    terminal.prompted();
    terminal.press("\\q\r");
    terminal.ends_well().await;
    let history = std::fs::read_to_string(home.path().join(".sluice_history")).unwrap();
    assert!(history.contains("where id = 2;"), "{history}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_ends_the_statement_and_not_the_prompt() {
    let world = World::new().await;
    let home = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::start(&world, &home);
    terminal.prompted();
    terminal.press("select count(*) from range(10000000) a(x), range(10000000) b(y) where x * y % 7 = 3;\r");
    terminal.sees("the query runs"); // from the third second on
    let pid = Pid::from_raw(i32::try_from(terminal.child.id().unwrap()).unwrap());
    kill(pid, Signal::SIGINT).unwrap(); // as Ctrl-C does
    terminal.sees("interrupted");
    terminal.prompted();
    terminal.press("select 40 + 2 as answer;\r");
    terminal.sees("42");
    terminal.prompted();
    terminal.press("\x04");
    terminal.ends_well().await;
    world.end().await;
}
