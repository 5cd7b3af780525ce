//! What is printed of the transfers of a zone, from others and to others.

use control::command::{PrimaryLine, TransferIn, TransferLine, TransfersIn, TransfersOut};
use control::text::{Seconds, count, grouped, octets};
use zone::check::Timestamp;

/// What came of asking others for a zone.
pub(super) fn transfers_in_text(transfers: &TransfersIn) -> String {
    let TransfersIn { checks, axfr, ixfr, in_vain, last, primaries } = transfers;
    let mut text = format!(
        "received  {}: {} by AXFR, {} by IXFR; {} answered, {} in vain\n",
        count((*axfr + *ixfr) as usize, "transfer"),
        grouped(*axfr),
        grouped(*ixfr),
        count(*checks as usize, "check"),
        grouped(*in_vain)
    );
    if let Some(TransferIn {
        what,
        primary,
        serial,
        versions,
        records,
        left_out,
        octets: came,
        millis,
        seconds,
    }) = last
    {
        let versions = if *versions > 1 { format!(", {versions} versions") } else { String::new() };
        let left =
            if *left_out > 0 { format!(" ({} not of the zone)", grouped(*left_out)) } else { String::new() };
        text += &format!(
            "received last by {what} from {primary} {} ago: serial {serial}{versions}, {}{left}, {}, {}.{:03} s\n",
            Seconds(*seconds),
            count(*records as usize, "record"),
            octets(*came),
            millis / 1000,
            millis % 1000
        );
    }
    for PrimaryLine { name, state, problem, advice, seconds } in primaries {
        let problem = problem.as_ref().map_or_else(String::new, |problem| {
            let advice = advice.as_ref().map_or_else(String::new, |advice| format!(" ({advice})"));
            format!("; {} ago it {problem}{advice}", Seconds(*seconds))
        });
        text += &format!("primary   {name}: {state}{problem}\n");
    }
    text
}

/// Who got a zone.
pub(super) fn transfers_text(transfers: &TransfersOut) -> String {
    let TransfersOut { now, begun, completed, broken, refused, octets: sent, last } = transfers;
    let mut text = format!(
        "sent      {}: {} complete, {} broken off, {now} under way; {}; {} refused\n",
        count(*begun as usize, "transfer"),
        grouped(*completed),
        grouped(*broken),
        octets(*sent),
        grouped(*refused)
    );
    if let Some(last) = last {
        let at = Timestamp(last.at as u32);
        let key = last.key.as_ref().map_or_else(String::new, |key| format!(", key {key}"));
        let problem =
            last.problem.as_ref().map_or_else(String::new, |problem| format!("; broken off: {problem}"));
        let TransferLine { client, what, serial, records, .. } = last;
        text += &format!(
            "sent last {what} of serial {serial}, {}, to {client}{key} at {at:#}{problem}\n",
            count(*records as usize, "record")
        );
    }
    text
}
