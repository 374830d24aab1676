// Package scale measures replicas of a server that share an engine. It has tests only: each
// replica is a process of the test program, each engine a process that internal/testengine starts.
//
// make scale takes all measurements and prints the tables of docs/scale.md. make test takes few
// of each with one engine, so that the measurements go on working; their figures mean nothing.
package scale
