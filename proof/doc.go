// Package proof attacks, wears out and loads servers in processes of their own.
// It holds tests only, and what they need:
//
//   - hostile_test.go: changed and made-up messages over each transport, each
//     with its expected verdict in testdata/hostile;
//   - soak_test.go: clients of every revision that come, go and break off, and
//     what is left of them;
//   - load_test.go: very many idle streams, and readers that hardly read.
//
// The small versions are part of make test. make hostile, make soak and make load
// run them in full and print a line of figures.
package proof
