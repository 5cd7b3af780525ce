//! What of a recipe is run: every variant at every value of every panel.

use ::engine::ProtectionKind;

use super::{super::Recipe, Count, EngineOptions, Variant};

/// One way to run the engine: a variant at one value of a panel.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Index of the panel.
    pub panel: usize,
    /// The variant's name.
    pub variant: String,
    /// Value on the panel's axis.
    pub value: u64,
    /// All options.
    pub options: EngineOptions,
}

/// What a recipe runs on a machine with so many cores.
pub fn cells(recipe: &Recipe, is_quick: bool, cores: usize) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (place, panel) in recipe.panels.iter().enumerate() {
        let is_in = |variant: &&Variant| panel.variants.is_empty() || panel.variants.contains(&variant.name);
        for value in panel.numbers(is_quick, cores) {
            for variant in recipe.variants.iter().filter(is_in) {
                let mut options = variant.options.or(&panel.options);
                panel.axis.set(&mut options, value);
                let threads = options.threads.map_or(1, |threads| threads.number(cores));
                options.threads = Some(Count::Number(threads));
                // What shares nothing is a program without threads, and the only one.
                if (options.protection == Some(ProtectionKind::Unshared)) == (threads == 0) {
                    cells.push(Cell { panel: place, variant: variant.name.clone(), value, options });
                }
            }
        }
    }
    cells
}
