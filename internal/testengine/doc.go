// Package testengine starts the programs of databases and message brokers for tests, each
// behind a proxy that makes the faults of a network.
//
// Each engine has a function that starts it, such as Redis, in a file of its own. It skips the
// test with the name of the package to install if the machine does not have the program.
// Tests that can share a server are subtests of one test, and use namespaces of their own.
package testengine
