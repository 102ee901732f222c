// Package hush turns a record into a private report, as spec/wire.md describes it.
//
// It was written from the specification and is held to the vectors in spec/vectors. A plan is checked in full when it is
// read: its canonical form, its channels, and that no report gives away more than its epsilon allows.
package hush
