//! What is left after a fault of the medium: one octet of an update in the middle has changed.

use std::path::{Path, PathBuf};

use redb::{ReadableDatabase, ReadableTableMetadata, TableDefinition};

use crate::{Outcome, UPDATE_OCTETS};

const UPDATES: u64 = 1000;
const TABLE: TableDefinition<'static, u64, &'static [u8]> = TableDefinition::new("updates");

fn update(number: u64) -> Vec<u8> {
    let mut update = vec![0; UPDATE_OCTETS];
    update[100..120].copy_from_slice(format!("update {number:013}").as_bytes());
    update
}

fn files(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    std::fs::read_dir(path).into_iter().flatten().flatten().flat_map(|entry| files(&entry.path())).collect()
}

/// Changes one octet in each copy of the update in the middle.
fn damage(path: &Path) -> std::io::Result<usize> {
    let (mut places, wanted) = (0, &update(UPDATES / 2)[100..120]);
    for file in files(path) {
        let mut octets = std::fs::read(&file)?;
        for at in 0..octets.len().saturating_sub(wanted.len()) {
            if &octets[at..at + wanted.len()] == wanted {
                octets[at - 50] ^= 1;
                places += 1;
            }
        }
        std::fs::write(&file, octets)?;
    }
    Ok(places)
}

pub fn run(folder: &Path) -> Outcome {
    let path = folder.join("damaged-fjall");
    {
        let database = fjall::Database::builder(&path).open()?;
        let keyspace = database.keyspace("updates", fjall::KeyspaceCreateOptions::default)?;
        for number in 0..UPDATES {
            keyspace.insert(number.to_be_bytes(), update(number))?;
            database.persist(fjall::PersistMode::SyncData)?;
        }
    }
    let places = damage(&path)?;
    match fjall::Database::builder(&path).open() {
        Ok(database) => {
            let keyspace = database.keyspace("updates", fjall::KeyspaceCreateOptions::default)?;
            println!(
                "fjall: {places} places changed, opened without a word, {} of {UPDATES} updates",
                keyspace.len()?
            );
        }
        Err(error) => println!("fjall: {places} places changed: {error}"),
    }
    let path = folder.join("damaged-redb");
    {
        let database = redb::Database::create(&path)?;
        for number in 0..UPDATES {
            let transaction = database.begin_write()?;
            transaction.open_table(TABLE)?.insert(number, &update(number)[..])?;
            transaction.commit()?;
        }
    }
    let places = damage(&path)?;
    let mut database = redb::Database::open(&path)?;
    let count = database.begin_read()?.open_table(TABLE)?.len()?;
    let is_whole = database.check_integrity().map_err(|error| error.to_string());
    println!(
        "redb: {places} places changed, opened, {count} of {UPDATES} updates; a check that is asked for says {is_whole:?}"
    );
    Ok(())
}
