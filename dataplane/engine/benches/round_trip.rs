//! What the hop to the child costs: the same statements in this process and through the child.
fn main() {}
