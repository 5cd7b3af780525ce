//! The page, in a browser: `browser` starts it, `tab` is what a person looks at, `input` what that person does, `seen` what is seen of it and what is
//! wrong with any page, `wire` how tests and browser speak. `driven` tries these against small pages of `site`.

mod browser;
mod driven;
mod input;
mod seen;
mod site;
mod tab;
mod wire;
