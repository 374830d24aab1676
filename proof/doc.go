// Package proof attacks, soaks and loads servers in separate processes. It has tests
// only:
//
//   - hostile_test.go: modified and hand-written messages over each transport, each
//     with its expected verdict in testdata/hostile;
//   - host_test.go and the other files whose names begin with host: attacks on the fondaco
//     program by its files, clients, servers and other users;
//   - soak_test.go: clients of every revision that connect, call and disconnect, and
//     the resources afterwards;
//   - load_test.go and hostload_test.go: many idle streams, slow readers, and a host beside
//     servers with large and restless lists.
//
// make test runs the small versions. make hostile, make soak and make load run the full
// ones and print a line of figures.
package proof
