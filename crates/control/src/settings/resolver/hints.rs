//! What of a resolver's settings is read well and will likely not do what it is meant to.

use wire::{Name, NameBuf};

use super::names;
use crate::settings::Settings;

/// Top-level names that networks have for themselves, and that the root zone denies: reserved (`internal` by ICANN, RFC 6761 6.2, RFC 6762 3), or used so often that they are
/// never delegated (RFC 6762 G).
const PRIVATE: [&str; 9] =
    ["corp.", "home.", "internal.", "intranet.", "lan.", "local.", "localdomain.", "private.", "test."];

impl Settings {
    /// Forward zones whose names will be bogus: they are private, the root zone is signed and proves that there are none, and nothing is said of it.
    pub(crate) fn resolver_hints(&self) -> Vec<String> {
        let resolver = &self.resolver;
        // Whether anchors of one's own say anything of the root zone is not known here.
        if !resolver.enabled || !resolver.validate || !resolver.trust_anchor_file.as_os_str().is_empty() {
            return Vec::new();
        }
        let insecure = names(&resolver.insecure);
        let is_insecure = |name: &Name| insecure.iter().any(|above| name.is_at_or_below(above));
        let zones = self.forwards.iter().filter_map(|(_, forward)| forward.name.as_deref());
        let private = zones.filter(|name| is_private(name) && !is_insecure(name));
        private.map(|zone| {
            format!(
                "[[forward]] {zone}: its names will be bogus, as the root zone is signed and proves that there is no such name; add insecure = [\"{zone}\"] to [resolver]"
            )
        })
        .collect()
    }
}

fn is_private(name: &Name) -> bool {
    let private = PRIVATE.iter().filter_map(|text| NameBuf::from_text(text).ok());
    private.into_iter().any(|top| name.is_at_or_below(&top))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::settings::Settings;

    #[track_caller]
    fn check(resolver: &str, zone: &str, expected: bool) {
        let text = format!(
            "[resolver]\nenabled = true\n{resolver}\n[[forward]]\nname = \"{zone}\"\naddresses = [\"10.0.0.53\"]\n"
        );
        let settings = Settings::parse("f".as_ref(), &text).unwrap();
        let hints = settings.resolver_hints();
        assert_eq!(!hints.is_empty(), expected, "{resolver} {zone}: {hints:?}");
        assert!(hints.iter().all(|hint| hint.contains("insecure = [\"")));
    }

    #[test]
    fn private_forwards() {
        check("", "corp.internal", true);
        check("", "LAN", true);
        check("", "corp.example.com", false);
        check("", ".", false);
        check("", "internal.example.com", false);
        check("insecure = [\"Internal\"]", "corp.internal", false);
        check("insecure = [\"a.corp.internal\"]", "corp.internal", true);
        check("validate = false", "corp.internal", false);
        check("trust-anchor-file = \"own\"", "corp.internal", false);
    }
}
