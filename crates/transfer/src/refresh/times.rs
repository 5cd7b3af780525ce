//! The times of an SOA record, brought within bounds and spread.

use crate::incoming::Soa;

/// Between what the times of zones are kept, in seconds. Whoever writes 0 or 2^31 into an SOA record does not mean it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Of refresh. Less than the default's 60 is what NOTIFY is for; more than its four weeks finds a lost NOTIFY too late.
    pub refresh: (u32, u32),
    /// Of retry.
    pub retry: (u32, u32),
    /// The longest expiry.
    pub expire_max: u32,
}

const DAY: u32 = 86_400;

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { refresh: (60, 28 * DAY), retry: (30, 14 * DAY), expire_max: 365 * DAY }
    }
}

/// The times of one zone within their bounds, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Intervals {
    /// From a check to the next.
    pub refresh: u32,
    /// From a check in vain to the next.
    pub retry: u32,
    /// From the last sign that the zone is current until it is not served any more.
    pub expire: u32,
}

impl Bounds {
    /// What an SOA record says, within these bounds. A zone never expires before it was asked for thrice.
    pub fn of(&self, soa: &Soa) -> Intervals {
        let refresh = soa.refresh.clamp(self.refresh.0, self.refresh.1.max(self.refresh.0));
        let retry = soa.retry.clamp(self.retry.0, self.retry.1.max(self.retry.0));
        let thrice = refresh.saturating_add(retry.saturating_mul(2));
        Intervals { refresh, retry, expire: soa.expire.min(self.expire_max).max(thrice) }
    }
}

/// Between three quarters of `seconds` and all of them: zones that were loaded together come apart.
pub fn spread(seconds: u32, random: u32) -> u32 {
    let quarter = u64::from(seconds / 4) + 1;
    seconds - ((quarter * u64::from(random)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds() {
        let of = |refresh, retry, expire| {
            let found = Bounds::default().of(&Soa { serial: 1, refresh, retry, expire });
            (found.refresh, found.retry, found.expire)
        };
        assert_eq!(of(3600, 900, 604_800), (3600, 900, 604_800));
        assert_eq!(of(0, 0, 0), (60, 30, 120));
        assert_eq!(of(u32::MAX, u32::MAX, u32::MAX), (28 * DAY, 14 * DAY, 365 * DAY));
        assert_eq!(of(DAY, DAY, 60), (DAY, DAY, 3 * DAY));
    }

    #[test]
    fn spreading() {
        for seconds in [0, 1, 2, 3, 4, 5, 100, u32::MAX] {
            assert_eq!(spread(seconds, 0), seconds);
            assert_eq!(spread(seconds, u32::MAX), seconds - seconds / 4);
        }
    }
}
