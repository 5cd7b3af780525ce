use super::*;
use crate::sample;

const COMMIT: &str = "0123456789abcdef";

fn wanted(out: &std::path::Path) -> Wanted {
    Wanted {
        recipes: ["start", "root", "memory"].map(str::to_owned).to_vec(),
        form: Form::Full,
        out: out.to_owned(),
        commit: COMMIT.to_owned(),
    }
}

/// As a run of a recipe does: a record of the tree's commit, in its folder.
fn measured(recipe: &Recipe, folder: PathBuf) -> Result<Record, Error> {
    fs::create_dir_all(&folder).unwrap();
    let mut record = Record { recipe: recipe.name.clone(), quick: false, ..sample::record() };
    record.machine["commit"] = COMMIT.into();
    file::write_record(&folder, &record).map_err(Error::Result)?;
    Ok(record)
}

/// Runs with `run` and says which recipes it was asked for.
fn ran(
    out: &std::path::Path,
    change: impl FnOnce(&mut Wanted),
    mut run: impl FnMut(&Recipe, PathBuf) -> Result<Record, Error>,
) -> (Vec<String>, All, Result<(), Error>) {
    let (mut wanted, mut asked) = (wanted(out), Vec::new());
    change(&mut wanted);
    let mut all = All::plan(wanted, |_| 600.0).unwrap();
    let result = all.run(|recipe, folder| {
        asked.push(recipe.name.clone());
        run(recipe, folder)
    });
    (asked, all, result)
}

#[test]
fn an_interrupted_run_goes_on_where_it_was() {
    let out = tempfile::tempdir().unwrap();
    let (asked, _, result) = ran(
        out.path(),
        |_| (),
        |recipe, folder| match &*recipe.name {
            "root" => Err(Error::Interrupted),
            _ => measured(recipe, folder),
        },
    );
    assert!(matches!(result, Err(Error::Interrupted)) && asked == ["start", "root"]);
    let index = fs::read_to_string(out.path().join("index.html")).unwrap();
    assert!(
        index.contains("<a href=\"start/report.html\">start</a>") && index.contains("Left: about 20 min"),
        "{index}"
    );
    let (asked, all, result) = ran(out.path(), |_| (), measured);
    assert!(result.is_ok() && asked == ["root", "memory"], "{asked:?}");
    let text = all.to_string();
    assert!(text.starts_with("start   was there") && text.contains("3 of 3 recipes have a record"), "{text}");
    assert!(ran(out.path(), |_| (), measured).0.is_empty(), "nothing is left");
}

#[test]
fn one_that_fails_holds_up_none_and_is_named() {
    let out = tempfile::tempdir().unwrap();
    let (asked, all, result) = ran(
        out.path(),
        |_| (),
        |recipe, folder| match &*recipe.name {
            "start" => Err(Error::Nobody),
            _ => measured(recipe, folder),
        },
    );
    assert!(result.is_ok() && asked == ["start", "root", "memory"]);
    let text = all.to_string();
    assert!(text.contains("2 of 3 recipes have a record of this commit; 1 failed: start\n"), "{text}");
    assert!(
        fs::read_to_string(out.path().join("index.html")).unwrap().contains("<td class=\"bad\">FAILED</td>")
    );
    assert_eq!(ran(out.path(), |_| (), measured).0, ["start"], "it is tried again");
}

#[test]
fn other_commits_and_forms_are_run_again() {
    let out = tempfile::tempdir().unwrap();
    ran(out.path(), |_| (), measured).2.unwrap();
    let again = ran(out.path(), |wanted| wanted.commit += "-dirty", measured).0;
    assert_eq!(again, ["start", "root", "memory"]);
    assert_eq!(ran(out.path(), |wanted| wanted.form = Form::Quick, measured).0.len(), 3);
    fs::write(out.path().join("root").join(RECORD), "{").unwrap();
    assert_eq!(ran(out.path(), |_| (), measured).0, ["root"], "half a record is none");
}

#[test]
fn all_in_full_take_a_night_at_most_on_two_cores() {
    let seconds = |recipe: &Recipe| recipe.estimate(Form::Full, if recipe.uses_all_cores() { 2 } else { 1 });
    let out = tempfile::tempdir().unwrap();
    let all = All::plan(Wanted { recipes: Vec::new(), ..wanted(out.path()) }, seconds).unwrap();
    assert_eq!(all.entries.len(), recipe::names().len());
    let sum = all.seconds_left();
    assert!(sum <= SECONDS_MAX, "{}\n{}", hours(sum), all);
    println!("{}", hours(sum));
}
