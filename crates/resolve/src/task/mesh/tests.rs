use super::*;
use crate::task::Purpose;
use crate::task::budget::Budgets;
use proptest::prelude::*;
use wire::NameBuf;

fn name(number: u32) -> NameBuf {
    NameBuf::from_text(&format!("n{number}.test.")).expect("a name")
}

fn task(budgets: &mut Budgets, number: u32) -> Box<Task> {
    let budget = budgets.begin(Moment(0));
    Box::new(Task::new(&name(number), 1, Purpose::Question, budget, Moment(0)))
}

#[test]
fn found_by_what_it_finds_out() {
    let (mut mesh, mut budgets) = (Mesh::new(), Budgets::default());
    let id = mesh.insert(task(&mut budgets, 1));
    assert_eq!(mesh.find(&name(1), 1, false), Some(id));
    assert_eq!(
        [mesh.find(&name(1), 2, false), mesh.find(&name(1), 1, true), mesh.find(&name(2), 1, false)],
        [None; 3]
    );
    let taken = mesh.take(id).expect("it is there");
    assert_eq!((mesh.find(&name(1), 1, false), mesh.has(id)), (None, true), "taken out for a step");
    mesh.put(id, taken);
    assert!(mesh.remove(id).is_some() && mesh.remove(id).is_none());
    let other = mesh.insert(task(&mut budgets, 2));
    assert!(
        other.0.slot == id.0.slot && mesh.get(id).is_none() && !mesh.has(id),
        "an old number finds nothing"
    );
    assert_eq!((mesh.find(&name(1), 1, false), mesh.count()), (None, 1));
}

#[test]
fn waiting_for_each_other() {
    let (mut mesh, mut budgets) = (Mesh::new(), Budgets::default());
    let ids: Vec<_> = (0..4).map(|number| mesh.insert(task(&mut budgets, number))).collect();
    for (parent, child) in [(0, 1), (1, 2), (1, 3)] {
        mesh.get_mut(ids[parent]).expect("it is there").children.push(ids[child]);
    }
    assert!(
        mesh.waits_for(ids[0], ids[3]) && mesh.waits_for(ids[1], ids[2]) && mesh.waits_for(ids[2], ids[2])
    );
    assert!(!mesh.waits_for(ids[2], ids[0]) && !mesh.waits_for(ids[2], ids[3]));
    // A fan too wide to be looked through is taken as a circle.
    let many: Vec<_> =
        (10..10 + WALK_MAX as u32).map(|number| mesh.insert(task(&mut budgets, number))).collect();
    mesh.get_mut(ids[2]).expect("it is there").children.extend(many);
    assert!(mesh.waits_for(ids[2], ids[0]));
}

#[test]
fn who_goes_first() {
    let (mut mesh, mut budgets) = (Mesh::new(), Budgets::default());
    assert_eq!(mesh.oldest_of_fullest(), None);
    let ids: Vec<_> = (0..5).map(|number| mesh.insert(task(&mut budgets, number))).collect();
    let (one, two) = (name(100), name(200));
    for (number, id) in ids.iter().enumerate() {
        mesh.count_under(*id, if number < 3 { &one } else { &two }, number as u64);
    }
    assert_eq!(mesh.oldest_of_fullest(), Some(ids[0]));
    mesh.count_under(ids[0], &one, 0);
    assert_eq!(mesh.oldest_of_fullest(), Some(ids[1]), "the first got further");
    mesh.protect(ids[1]);
    mesh.count_under(ids[3], &two, 7);
    mesh.count_under(ids[4], &two, 7);
    mesh.count_under(ids[2], &one, 7);
    assert_eq!(mesh.oldest_of_fullest(), Some(ids[3]), "three of one client are more than two of a zone");
}

proptest! {
    /// What is due comes in order, once, and not before; against a plain map.
    #[test]
    fn due_in_order(changes in proptest::collection::vec((0usize..8, proptest::option::of(0u64..50)), 0..60)) {
        let (mut mesh, mut budgets) = (Mesh::new(), Budgets::default());
        let ids: Vec<_> = (0..8).map(|number| mesh.insert(task(&mut budgets, number))).collect();
        let mut model = [None; 8];
        for (number, due) in changes {
            mesh.set_due(ids[number], due.map(Moment));
            model[number] = due;
        }
        prop_assert_eq!(mesh.deadline(), model.iter().flatten().min().map(|due| Moment(*due)));
        for now in 0..50 {
            while let Some(id) = mesh.next_due(Moment(now)) {
                let number = ids.iter().position(|known| *known == id).expect("one of them");
                prop_assert_eq!(model[number].take(), Some(now));
            }
        }
        prop_assert_eq!(model, [None; 8]);
    }
}
