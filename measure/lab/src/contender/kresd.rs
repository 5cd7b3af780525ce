//! Knot Resolver: its daemon without the manager, a process for each worker, which share a cache in a file. By default it keeps everything
//! for five seconds at least; here for as long as it may be kept, as the others.

use super::{HINTS, Job, Resolving, Setup};

pub fn setup(job: &Job<'_>) -> Setup {
    let folder = job.folder.display();
    let Resolving { cache_octets, serves_stale, .. } = job.bounds.resolving;
    let stale = if serves_stale { "modules.load('serve_stale < cache')\n" } else { "" };
    let head = format!(
        r#"log_level('crit')
net.listen('{}', {}, {{ kind = 'dns' }})
net.ipv6 = false
cache.open({cache_octets}, 'lmdb://{folder}/cache')
cache.min_ttl(0)
trust_anchors.remove('.')
{}modules = {{ 'hints > iterate' }}
hints.root_file('{folder}/{HINTS}')
{stale}"#,
        job.address.ip(),
        job.address.port(),
        job.role.anchor().map_or_else(String::new, |anchor| {
            format!("trust_anchors.add('. 3600 IN DS {}')\n", anchor.words())
        })
    );
    let one = ["kresd", "-n", "-c", &format!("{folder}/kresd.conf"), &folder.to_string()].map(str::to_owned);
    let command = match job.workers {
        0 | 1 => one.to_vec(),
        // It has neither threads nor processes of its own: its manager starts as many as asked for, as is done here.
        workers => {
            let each = format!("{} &", one.join(" "));
            Setup::words(&["sh", "-c", &format!("{} wait", vec![each; workers].join(" "))])
        }
    };
    Setup { file: "kresd.conf", head, command, ..Setup::default() }
}
