//! The manual page of the settings, made from their declarations.

use super::api::{ApiKeySettings, ApiSettings};
use super::catalogs::CatalogSettings;
use super::declare::{Row, Section};
use super::http::HttpSettings;
use super::resolver::{ForwardSettings, LocalZoneSettings, ResolverSettings, StubSettings};
use super::sections::{
    AccessSettings, AclSettings, ControlSettings, CookieSettings, DnstapSettings, KeySettings, LogSettings,
    QueryLogSettings, RateLimitSettings, RemoteSettings, SecondarySettings, ServerSettings, TcpSettings,
    UpdatePolicySettings, ZoneSettings,
};
use super::stores::StoreSettings;
use super::zones::{TemplateSettings, ZoneDirectorySettings};
use crate::text::roff;

const SMALLEST: &str = "\
[server]
listen = [\"127.0.0.1:5300\"]   # UDP and TCP

[[zone]]
name = \"example.com.\"
file = \"example.com.zone\"";

const INTRODUCTION: &str = "\
# Settings

<!-- Made by `zonda settings --markdown` from the declarations in `crates/control/src/settings/sections.rs`. -->

The settings are one TOML file. Paths in it are relative to the folder it is in. A key that is not listed
here is an error, with its line and the key that was probably meant; `zonda check-config FILE` shows all
errors of a file at once. The smallest useful file:

```toml
[server]
listen = [\"127.0.0.1:5300\"]   # UDP and TCP

[[zone]]
name = \"example.com.\"
file = \"example.com.zone\"
```

*Change takes effect* tells what puts a changed setting in force: `reconfigure` means `zonda ctl reconfigure`
or SIGHUP, `start` means a new start of the server (of which `reconfigure` reminds).
";

/// The page as Markdown.
pub fn markdown() -> String {
    let mut page = String::from(INTRODUCTION);
    add::<ServerSettings>(&mut page, "[server]");
    add::<TcpSettings>(&mut page, "[tcp]");
    add::<CookieSettings>(&mut page, "[cookies]");
    add::<AccessSettings>(&mut page, "[access]");
    add::<AclSettings>(&mut page, "[[acl]]");
    add::<KeySettings>(&mut page, "[[key]]");
    add::<UpdatePolicySettings>(&mut page, "[[update-policy]]");
    add::<RemoteSettings>(&mut page, "[[remote]]");
    add::<RateLimitSettings>(&mut page, "[rate-limit]");
    add::<SecondarySettings>(&mut page, "[secondary]");
    add::<ResolverSettings>(&mut page, "[resolver]");
    add::<ForwardSettings>(&mut page, "[[forward]]");
    add::<StubSettings>(&mut page, "[[stub]]");
    add::<LocalZoneSettings>(&mut page, "[[local-zone]]");
    add::<ControlSettings>(&mut page, "[control]");
    add::<HttpSettings>(&mut page, "[http]");
    add::<ApiSettings>(&mut page, "[api]");
    add::<ApiKeySettings>(&mut page, "[[api-key]]");
    add::<LogSettings>(&mut page, "[log]");
    add::<DnstapSettings>(&mut page, "[dnstap]");
    add::<QueryLogSettings>(&mut page, "[query-log]");
    add::<ZoneSettings>(&mut page, "[[zone]]");
    add::<ZoneDirectorySettings>(&mut page, "[[zone-directory]]");
    add::<TemplateSettings>(&mut page, "[[template]]");
    add::<CatalogSettings>(&mut page, "[[catalog]]");
    add::<StoreSettings>(&mut page, "[[store]]");
    page
}

fn add<S: Section>(page: &mut String, heading: &str) {
    page.push_str(&format!("\n## `{heading}`\n\n{}\n", prose(S::ABOUT)));
    for Row { key, expected, default, live, help } in S::rows() {
        let when = if live { "reconfigure" } else { "start" };
        page.push_str(&format!(
            "\n### `{key}`\n\n{}\n\nExpected: {expected}. Default: `{default}`. Change takes effect: {when}.\n",
            prose(help)
        ));
    }
}

/// The page as a manual page of section 5, `zonda.toml`.
pub fn man_page() -> String {
    let mut page = format!(
        ".TH zonda.toml 5 \"\" \"Zonda {}\" Zonda\n\
         .SH NAME\nzonda.toml \\- settings of the name server zonda\n\
         .SH SYNOPSIS\n.I /etc/zonda/zonda.toml\n\
         .SH DESCRIPTION\n\
         The settings are one TOML file. Paths in it are relative to the folder it is in. A key that is not listed here is\n\
         an error, with its line and the key that was probably meant; \\fBzonda check\\-config\\fR shows all errors of a file\n\
         at once. After each setting stands what may be written, what holds where it is not written, and what puts a change\n\
         in force: \\fBzonda ctl reconfigure\\fR and SIGHUP, or only a new start.\n",
        env!("CARGO_PKG_VERSION")
    );
    add_man::<ServerSettings>(&mut page, "[server]");
    add_man::<TcpSettings>(&mut page, "[tcp]");
    add_man::<CookieSettings>(&mut page, "[cookies]");
    add_man::<AccessSettings>(&mut page, "[access]");
    add_man::<AclSettings>(&mut page, "[[acl]]");
    add_man::<KeySettings>(&mut page, "[[key]]");
    add_man::<UpdatePolicySettings>(&mut page, "[[update-policy]]");
    add_man::<RemoteSettings>(&mut page, "[[remote]]");
    add_man::<RateLimitSettings>(&mut page, "[rate-limit]");
    add_man::<SecondarySettings>(&mut page, "[secondary]");
    add_man::<ResolverSettings>(&mut page, "[resolver]");
    add_man::<ForwardSettings>(&mut page, "[[forward]]");
    add_man::<StubSettings>(&mut page, "[[stub]]");
    add_man::<LocalZoneSettings>(&mut page, "[[local-zone]]");
    add_man::<ControlSettings>(&mut page, "[control]");
    add_man::<HttpSettings>(&mut page, "[http]");
    add_man::<ApiSettings>(&mut page, "[api]");
    add_man::<ApiKeySettings>(&mut page, "[[api-key]]");
    add_man::<LogSettings>(&mut page, "[log]");
    add_man::<DnstapSettings>(&mut page, "[dnstap]");
    add_man::<QueryLogSettings>(&mut page, "[query-log]");
    add_man::<ZoneSettings>(&mut page, "[[zone]]");
    add_man::<ZoneDirectorySettings>(&mut page, "[[zone-directory]]");
    add_man::<TemplateSettings>(&mut page, "[[template]]");
    add_man::<CatalogSettings>(&mut page, "[[catalog]]");
    add_man::<StoreSettings>(&mut page, "[[store]]");
    page.push_str(&format!(
        ".SH EXAMPLES\nThe smallest useful file:\n.PP\n.nf\n{}\n.fi\n\
         .SH SEE ALSO\n.BR zonda (1),\n.BR zonda\\-check\\-config (1),\n.BR zonda\\-serve (1),\n.BR zonda\\-ctl (1)\n",
        roff(SMALLEST)
    ));
    page
}

fn add_man<S: Section>(page: &mut String, heading: &str) {
    page.push_str(&format!(".SH {heading}\n{}\n", man_text(S::ABOUT)));
    for Row { key, expected, default, live, help } in S::rows() {
        let when = if live { "reconfigure" } else { "start" };
        let (key, help) = (roff(&key), man_text(help));
        let (expected, default) = (roff(&expected), roff(&default));
        page.push_str(&format!(
            ".TP\n\\fB{key}\\fR\n{help}\n.IP\nExpected: {expected}. Default: {default}. In force after: {when}.\n"
        ));
    }
}

/// Doc comments as text of a manual page: what is in backticks becomes bold.
fn man_text(doc: &str) -> String {
    let text = prose(doc);
    let parts = text.split('`').enumerate();
    let mut page = String::new();
    for (at, part) in parts {
        let part = roff(part);
        page += &if at % 2 == 1 { format!("\\fB{part}\\fR") } else { part };
    }
    page
}

/// The text of doc comments without the blank each line begins with.
fn prose(doc: &str) -> String {
    let lines: Vec<&str> = doc.lines().map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    lines.join("\n").trim().to_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    #[test]
    fn the_manual_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/manual/src/settings.md");
        let stored = std::fs::read_to_string(path).unwrap();
        let fresh = super::markdown();
        assert!(stored == fresh, "{path} is stale: run `zonda settings --markdown >{path}`");
    }
}
