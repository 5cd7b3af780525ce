//! The page, in a browser: `browser` starts it, `tab` is what a person looks at, `input` what that person does, `seen` what is seen of it and what is
//! wrong with any page, `wire` how tests and browser speak. `driven` tries these against small pages of `site`.

pub mod browser;
mod driven;
mod input;
pub mod seen;
mod site;
pub mod tab;
mod wire;
