//! The zone pack: builder, mapped reader, lookup.
