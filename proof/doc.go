// Package proof attacks, soaks and loads servers in separate processes. It has tests
// only:
//
//   - hostile_test.go: modified and hand-written messages over each transport, each
//     with its expected verdict in testdata/hostile;
//   - soak_test.go: clients of every revision that connect, call and disconnect, and
//     the resources afterwards;
//   - load_test.go: many idle streams, and slow readers.
//
// make test runs the small versions. make hostile, make soak and make load run the full
// ones and print a line of figures.
package proof
