use super::*;

fn text(name: &str) -> &'static str {
    let file = FILES.iter().find(|file| file.name == name).unwrap();
    std::str::from_utf8(file.octets).unwrap()
}

fn modules() -> impl Iterator<Item = (&'static str, &'static str)> {
    FILES.iter().filter(|file| file.kind == MODULE).map(|file| (file.name, text(file.name)))
}

#[test]
fn where_files_are() {
    let page = Page::new();
    assert!(page.hash.len() == 2 * HASH_OCTETS && page.hash == Page::new().hash);
    let at = |name: &str| format!("/page/{}/{name}", page.hash);
    FILES.iter().for_each(|file| assert_eq!(page.file(&at(file.name)), Some(file)));
    for none in ["", "index.html", "none.js", "../main.js", "main.js/"] {
        assert_eq!(page.file(&at(none)), None, "{none}");
    }
    assert!(page.file("/page/0000000000000000/main.js").is_none() && page.file("/main.js").is_none());
    // Each is known from the beginning, so that nothing is loaded later.
    assert!(!page.index.contains(PLACE));
    FILES.iter().for_each(|file| assert!(page.index.contains(&at(file.name)), "{}", file.name));
    let octets = INDEX.len() + FILES.iter().map(|file| file.octets.len()).sum::<usize>();
    assert!(octets <= OCTETS_MAX, "{octets}");
}

/// What the folder has is served, and nothing else.
#[test]
fn all_files_of_the_folder() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/page");
    let names =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name != "index.html").collect();
    let mut known: Vec<&str> = FILES.iter().map(|file| file.name).collect();
    names.sort();
    known.sort_unstable();
    assert_eq!(names, known);
}

/// What says that elements are of pictures: a name, which nobody asks for.
const PICTURES: &str = "\"http://www.w3.org/2000/svg\"";

/// Text never becomes markup: elements are made in one place, of which that is read; and nothing comes from elsewhere.
#[test]
fn nothing_is_markup_that_was_text() {
    const NOWHERE: [&str; 16] = [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "DOMParser",
        "srcdoc",
        "setHTML",
        "createContextualFragment",
        "eval(",
        "Function(",
        "javascript:",
        "style=",
        "http:",
        "https:",
        "import(",
        "data:",
    ];
    for (name, text) in modules() {
        let without = if name == "dom.js" { text.replacen(PICTURES, "", 1) } else { text.to_owned() };
        NOWHERE.iter().for_each(|word| assert!(!without.contains(word), "{name}: {word}"));
        let makes = ["createElement", "setAttribute"].iter().any(|word| text.contains(word));
        assert!(!makes || name == "dom.js", "{name}");
    }
    // Nor is there any that acts by itself in the one file that is markup.
    for word in ["style=", "http:", "https:", "javascript:", "<script>", "<style", " onclick", " onload"] {
        assert!(!INDEX.contains(word), "{word}");
    }
    let style = text("style.css");
    assert!(!style.contains("url(") && !style.contains("@import"));
}

/// The variables of each `:root` of the style, light and dark.
fn colours() -> Vec<Vec<(&'static str, [f64; 3])>> {
    let blocks = text("style.css").split(":root {").skip(1).filter_map(|rest| rest.split('}').next());
    let channel = |digits: &str| f64::from(u8::from_str_radix(digits, 16).unwrap()) / 255.0;
    let colour = |line: &'static str| {
        let (name, value) = line.trim().strip_prefix("--")?.strip_suffix(';')?.split_once(": #")?;
        Some((name, [0, 2, 4].map(|at| channel(&value[at..at + 2]))))
    };
    blocks.map(|block| block.lines().filter_map(colour).collect()).collect()
}

/// How bright a colour is (WCAG 2.2, relative luminance).
fn luminance(colour: [f64; 3]) -> f64 {
    let linear = |part: f64| match part <= 0.04045 {
        true => part / 12.92,
        false => ((part + 0.055) / 1.055).powf(2.4),
    };
    let [red, green, blue] = colour.map(linear);
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/// Text can be read and lines can be seen, light and dark (WCAG 2.2, 1.4.3 and 1.4.11).
#[test]
fn contrast() {
    let all = colours();
    assert_eq!(all.len(), 2);
    for colours in &all {
        let of = |name: &str| luminance(colours.iter().find(|(known, _)| *known == name).unwrap().1);
        let is_at_least = |front: &str, behind: &str, ratio: f64| {
            let (front_light, behind_light) = (of(front), of(behind));
            let (light, dark) = (front_light.max(behind_light), front_light.min(behind_light));
            let found = (light + 0.05) / (dark + 0.05);
            assert!(found >= ratio, "{front} on {behind}: {found:.2}");
        };
        for behind in ["ground", "raised"] {
            ["text", "quiet", "wrong", "accent"].iter().for_each(|front| is_at_least(front, behind, 4.5));
            is_at_least("line", behind, 3.0);
        }
        is_at_least("on-accent", "accent", 4.5);
    }
}
