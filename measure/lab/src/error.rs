//! What can go wrong in an experiment, each with what its user needs to mend it.

use std::{fmt, io, path::PathBuf};

/// Why an experiment, or a part of it, stopped.
#[derive(Debug)]
pub enum Error {
    /// A file or folder could not be read, written or made.
    File {
        /// The file or folder.
        path: PathBuf,
        /// What was tried: `open`, `read`, `write`, `create`.
        action: &'static str,
        /// What the system said.
        cause: io::Error,
    },
    /// A recipe that cannot be understood.
    Recipe {
        /// The file, or the name of a recipe that ships with the program.
        file: String,
        /// Line and column, counted from 1, where they are known.
        place: Option<(usize, usize)>,
        /// What is wrong there.
        problem: String,
    },
    /// No recipe or file of that name.
    NoRecipe {
        /// What was asked for.
        name: String,
    },
    /// A program that is needed is not there.
    Missing {
        /// The program.
        program: String,
        /// What brings it.
        remedy: &'static str,
    },
    /// Network namespaces cannot be made.
    Namespaces {
        /// The command that failed.
        command: String,
        /// What it said.
        said: String,
    },
    /// A program ended with an error.
    Program {
        /// Its command line.
        command: String,
        /// How it ended.
        status: String,
        /// The last lines it said.
        said: String,
    },
    /// A server did not come up, or went down.
    Server {
        /// Who.
        contender: String,
        /// What happened.
        problem: ServerProblem,
        /// The last lines it said.
        said: String,
    },
    /// A program said something that is not understood.
    Output {
        /// The program.
        program: &'static str,
        /// What it should have said.
        wanted: &'static str,
    },
    /// A system call that concerns no file.
    System {
        /// What was tried.
        action: &'static str,
        /// What the system said.
        cause: io::Error,
    },
    /// The newest packages of the peers could not be unpacked.
    Peers {
        /// Where to.
        folder: PathBuf,
        /// Why not.
        cause: Box<Error>,
    },
    /// Options whose values cannot be met.
    Option {
        /// The option.
        option: &'static str,
        /// The rule its value breaks.
        rule: String,
    },
    /// Nobody is left to measure.
    Nobody,
    /// The user ended it.
    Interrupted,
    /// The result could not be written.
    Result(crate::file::Error),
    /// A part of the measuring tool failed.
    Bench(bench::Error),
}

/// What happened to a server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ServerProblem {
    /// It ended by itself, with this exit status where it had one.
    Ended(Option<i32>),
    /// It did not answer within so many seconds.
    Silent(f64),
    /// It ran, but the load against it failed.
    Load,
    /// What has to be done before it starts failed.
    Preparation,
    /// It could not be told to read a zone again.
    Reload,
    /// It did not serve the new serial of a zone within so many seconds.
    Stale(f64),
    /// It left no counts of what it executed.
    Uncounted,
    /// It answers with this response code and does nothing else.
    Refuses(u8),
}

impl fmt::Display for ServerProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerProblem::Ended(Some(status)) => write!(f, "ended by itself with status {status}"),
            ServerProblem::Ended(None) => f.write_str("was killed"),
            ServerProblem::Silent(seconds) => write!(f, "did not answer within {seconds} s"),
            ServerProblem::Load => f.write_str("could not be measured"),
            ServerProblem::Preparation => f.write_str("could not be set up"),
            ServerProblem::Reload => f.write_str("could not be told to read a zone again"),
            ServerProblem::Stale(seconds) => {
                write!(f, "did not serve the new serial of a zone within {seconds} s")
            }
            ServerProblem::Uncounted => f.write_str("left no counts of what it executed"),
            ServerProblem::Refuses(code) => {
                let code = wire::iana::rcode::mnemonic(u16::from(*code)).unwrap_or("an error");
                write!(f, "runs idle and answers {code} instead of serving its zones")
            }
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::File { path, action, cause } => write!(f, "cannot {action} {}: {cause}", path.display()),
            Error::Recipe { file, place: Some((line, column)), problem } => {
                write!(f, "{file}:{line}:{column}: {problem}")
            }
            Error::Recipe { file, place: None, problem } => write!(f, "{file}: {problem}"),
            Error::NoRecipe { name } => {
                write!(f, "no recipe {name}: expected the path of a file or one of ")?;
                f.write_str(&crate::recipe::names().join(", "))
            }
            Error::Missing { program, remedy } => write!(f, "{program} is missing: {remedy}"),
            Error::Namespaces { command, said } => {
                let said = said.trim();
                writeln!(f, "cannot make network namespaces: {command}: {said}")?;
                f.write_str("run it as root, or over the loopback interface: --bed loopback")
            }
            Error::Program { command, status, said } => write!(f, "{command}: {status}; it said:\n{said}"),
            Error::Server { contender, problem, said } if said.trim().is_empty() => {
                write!(f, "{contender} {problem} and said nothing")
            }
            Error::Server { contender, problem, said } => {
                write!(f, "{contender} {problem}; it said:\n{}", said.trim_end())
            }
            Error::Output { program, wanted } => write!(f, "{program} did not say {wanted}"),
            Error::System { action, cause } => write!(f, "cannot {action}: {cause}"),
            Error::Peers { folder, cause } => {
                writeln!(f, "cannot unpack the newest peers into {}: {cause}", folder.display())?;
                f.write_str("What was fetched is kept: the same command goes on from there.")
            }
            Error::Option { option, rule } => write!(f, "{option}: {rule}"),
            Error::Nobody => f.write_str("no contender is left to measure"),
            Error::Interrupted => f.write_str("ended by a signal"),
            Error::Result(error) => error.fmt(f),
            Error::Bench(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<bench::Error> for Error {
    fn from(error: bench::Error) -> Error {
        Error::Bench(error)
    }
}

impl From<crate::file::Error> for Error {
    fn from(error: crate::file::Error) -> Error {
        Error::Result(error)
    }
}

/// For `map_err`: what was tried with a file.
pub fn file(path: &std::path::Path, action: &'static str) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |cause| Error::File { path, action, cause }
}
