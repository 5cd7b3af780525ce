//! What servers that do not do as they should lead to.
