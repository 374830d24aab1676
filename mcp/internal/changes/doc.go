// Package changes notifies clients of changes of lists and resources: the sessions and
// the listen requests of one server, and its other replicas over a Bus.
//
// Announcing a change never waits for a client. The queue of a subscriber is a set of topics;
// of several changes of one topic within 50 ms the subscriber gets the first and the last.
package changes
