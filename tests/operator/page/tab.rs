//! A tab of a browser: what it shows, and what it is made to do.

use std::sync::Arc;

use serde_json::{Value, json};
use zonda_tests::patience::await_some;

use crate::kit::base64;

use super::browser::Browser;
use super::wire::{Event, TOLD};

/// A tab. It stays open as long as the browser runs.
pub struct Tab {
    browser: Arc<Browser>,
    session: String,
    /// The tab, and its outermost frame.
    target: String,
}

impl Tab {
    /// Of a target and the session that is attached to it: 1,280 by 800 pixels.
    pub fn new(browser: Arc<Browser>, session: String, target: String) -> Tab {
        let tab = Tab { browser, session, target };
        for method in TOLD.into_iter().chain(["Page.enable"]) {
            tab.ask(method, json!({}));
        }
        tab.ask("Page.setLifecycleEventsEnabled", json!({"enabled": true}));
        // Workers and frames of other sites wait until what they ask for is told too.
        let attach = json!({"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true});
        tab.ask("Target.setAutoAttach", attach);
        tab.resize(1280, 800);
        tab
    }

    /// Opens what is at an address, and waits until all of it is loaded.
    #[track_caller]
    pub fn open(&self, address: &str) {
        self.try_open(address).unwrap_or_else(|words| panic!("{address}: {words}"));
    }

    /// As [`Tab::open`], where it may fail. Of a page that is open already but for the fragment, there is nothing to wait for.
    pub fn try_open(&self, address: &str) -> Result<(), String> {
        let opened = self.browser.wire.ask(&self.session, "Page.navigate", json!({"url": address}))?;
        if let Some(words) = opened["errorText"].as_str() {
            return Err(words.to_owned());
        }
        let is_end = |event: &Event| {
            event.method == "Page.lifecycleEvent"
                && event.params["name"] == "load"
                && event.params["loaderId"] == opened["loaderId"]
        };
        if opened["loaderId"].is_null() {
            return Ok(());
        }
        self.browser.wire.find("the end of the load", |heard| heard.events.iter().any(is_end).then_some(()))
    }

    /// The value of an expression; of a promise what comes of it. Panics where it throws.
    #[track_caller]
    pub fn value(&self, expression: &str) -> Value {
        self.try_value(expression).unwrap_or_else(|words| panic!("{expression}: {words}"))
    }

    /// As [`Tab::value`], where it may throw or the browser may end.
    pub fn try_value(&self, expression: &str) -> Result<Value, String> {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut found = self.browser.wire.ask(&self.session, "Runtime.evaluate", params)?;
        match found.get("exceptionDetails") {
            Some(thrown) => Err(exception(thrown)),
            None => Ok(found["result"]["value"].take()),
        }
    }

    /// Waits until an expression is true. That it throws, as a page that is just loaded lets it do, is *not yet*.
    #[track_caller]
    pub fn await_true(&self, expression: &str) {
        await_some(
            || format!("waited for {expression}: {:?}; {:#?}", self.try_value(expression), self.messages()),
            || (self.try_value(expression) == Ok(true.into())).then_some(()),
        );
    }

    /// Waits until all that the page has asked for is answered, and taken in.
    #[track_caller]
    pub fn settle(&self) {
        await_some(
            || format!("waited for the ends of requests: {:#?}", self.requests()),
            || self.requests().iter().all(|request| request.has_ended).then_some(()),
        );
        self.value("new Promise(done => setTimeout(() => done(null)))");
    }

    /// Sets the size of what is seen of a page, in its pixels.
    pub fn resize(&self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.ask("Emulation.setDeviceMetricsOverride", size);
    }

    /// What media queries find: `("prefers-color-scheme", "dark")`, `("forced-colors", "active")`. All that is not among these is as usual.
    pub fn prefer(&self, features: &[(&str, &str)]) {
        let features: Vec<Value> =
            features.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
        self.ask("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    /// Puts the tab out of sight, or back. No tab hides another.
    pub fn hide(&self, is_hidden: bool) {
        let window = self.ask("Browser.getWindowForTarget", json!({}))["windowId"].take();
        let state = if is_hidden { "minimized" } else { "normal" };
        let bounds = json!({"windowId": window, "bounds": {"windowState": state}});
        self.browser.wire.ask("", "Browser.setWindowBounds", bounds).expect("a window");
    }

    /// Takes whatever certificate a server has.
    pub fn trust_all(&self) {
        self.ask("Security.setIgnoreCertificateErrors", json!({"ignore": true}));
    }

    /// A picture as octets of PNG: of what is seen, or of the whole page.
    pub fn picture(&self, is_whole: bool) -> Vec<u8> {
        let mut params = json!({"format": "png"});
        if is_whole {
            let mut area = self.ask("Page.getLayoutMetrics", json!({}))["cssContentSize"].take();
            area["scale"] = 1.into();
            (params["clip"], params["captureBeyondViewport"]) = (area, true.into());
        }
        base64(self.ask("Page.captureScreenshot", params)["data"].as_str().expect("a picture"))
    }

    /// Carries out what there is no word for here. Panics where it fails.
    #[track_caller]
    pub fn ask(&self, method: &str, params: Value) -> Value {
        self.browser.wire.ask(&self.session, method, params).unwrap_or_else(|words| panic!("{words}"))
    }

    /// What the tab and its workers and frames told since it was opened, or [`Tab::forget`].
    pub fn events(&self) -> Vec<Event> {
        self.browser.wire.change(|heard| {
            heard.events.iter().filter(|event| event.session == self.session).cloned().collect()
        })
    }

    /// Forgets what was told until now.
    pub fn forget(&self) {
        self.browser.wire.change(|heard| heard.events.retain(|event| event.session != self.session));
    }

    /// The outermost frame.
    pub fn frame(&self) -> &str {
        &self.target
    }
}

/// What was thrown, as the console shows it.
pub fn exception(details: &Value) -> String {
    let words = details["exception"]["description"].as_str().or_else(|| details["text"].as_str());
    words.map_or_else(|| details.to_string(), str::to_owned)
}
