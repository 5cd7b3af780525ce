//! How the fitted parameters of `scaling::bind` are found: what the times of each curve must be multiplied with so that it
//! fits the rate with two threads, and what is then wrong with two, three and four.

use scaling::{Effort, bind, run};

fn main() -> Result<(), scaling::Fault> {
    let effort = Effort { queries: 24_000, seed: 1 };
    for curve in bind::curves() {
        let error = |factor: f64, threads: usize| {
            let mut model = curve.model.clone();
            let machine = &mut model.machine;
            if curve.is_stock {
                machine.resume_ns *= factor;
                machine.sleep_ns *= factor;
                machine.wake_ns *= factor;
            } else {
                machine.transfer_ns *= factor;
            }
            Ok::<f64, scaling::Fault>(run(&model, threads, effort)?.rate / curve.published[threads - 1] - 1.0)
        };
        let (mut low, mut high) = (0.1f64, 5.0);
        for _ in 0..16 {
            let middle = f64::midpoint(low, high);
            if error(middle, 2)? > 0.0 { low = middle } else { high = middle }
        }
        let (two, three, four) = (error(low, 2)?, error(low, 3)?, error(low, 4)?);
        println!("{}: {low:.4} times; {two:+.3} {three:+.3} {four:+.3}", curve.name);
    }
    println!("{:?}", bind::profile::profile(effort)?);
    Ok(())
}
