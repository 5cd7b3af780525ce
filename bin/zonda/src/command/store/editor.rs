//! The editor that the user wants, and whose the keys are while it runs.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use control::text::cannot;
use signal_hook::consts::{SIGINT, SIGQUIT};
use signal_hook::flag::register_conditional_default;

use super::Lines;

/// Runs editors. A terminal sends Ctrl-C to all programs in its foreground, and in an editor it is a key as any: who waits for the editor must not end by it,
/// or the two of the shell and the editor read one terminal and nobody takes the text.
pub struct Editor {
    /// Whether such signals end us, as they do by default.
    are_signals_ours: Arc<AtomicBool>,
}

impl Editor {
    /// From here on signals are ours, but while an editor runs. It gets them as ever: handlers do not outlive the start of a program.
    pub fn new() -> Editor {
        let are_signals_ours = Arc::new(AtomicBool::new(true));
        for signal in [SIGINT, SIGQUIT] {
            // Both may be caught, so that this does not fail; if it does, they end us.
            let _ = register_conditional_default(signal, Arc::clone(&are_signals_ours));
        }
        Editor { are_signals_ours }
    }

    /// Runs the editor by the shell, as it may have arguments, and waits for it.
    pub fn run(&self, path: &Path) -> Result<(), Lines> {
        let wanted = |name| std::env::var(name).ok().filter(|editor| !editor.trim().is_empty());
        let editor = wanted("VISUAL").or_else(|| wanted("EDITOR")).unwrap_or_else(|| "vi".into());
        let mut command = Command::new("sh");
        // The shell waits as we do. A trap that does something is not handed on, unlike one that ignores.
        command.args(["-c", &format!("trap : INT QUIT; {editor} \"$1\""), "sh"]).arg(path);
        self.are_signals_ours.store(false, Ordering::SeqCst);
        let status = command.status();
        self.are_signals_ours.store(true, Ordering::SeqCst);
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(vec![format!("the editor {editor:?} failed ({status})")]),
            Err(error) => Err(vec![format!("the editor {editor:?}: {}", cannot("run it", &error))]),
        }
    }
}
