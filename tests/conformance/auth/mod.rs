//! What the RFCs ask of an authoritative server.

mod rfc1035 {
    mod section_4_1_1;
    mod section_4_1_2;
    mod section_4_1_4;
    mod section_4_2;
}
mod rfc2181 {
    mod section_9;
}
mod rfc3597 {
    mod section_3;
    mod section_4;
}
mod rfc4035 {
    mod appendix_b;
    mod section_3_1;
    mod section_3_1_4;
    mod section_3_1_6;
}
mod rfc4343 {
    mod section_4;
}
mod rfc4592 {
    mod section_2_2_1;
}
mod rfc4892 {
    mod section_3;
}
mod rfc5001 {
    mod section_2;
}
mod rfc5155 {
    mod appendix_b;
    mod section_7_2;
}
mod rfc6672 {
    mod section_5_3;
}
mod rfc6891 {
    mod section_6_1;
    mod section_6_2;
    mod section_7;
}
mod rfc7766 {
    mod section_6;
    mod section_7;
    mod section_8;
}
mod rfc8482 {
    mod section_4;
}
mod rfc8906 {
    mod section_8;
}
mod rfc8914 {
    mod section_4;
}
mod rfc9471 {
    mod section_3;
}
