// Package changes notifies clients of changes of lists and resources: the sessions and
// the listen requests of one server, and its other replicas over a Bus.
//
// Announcing a change never waits for a client. What a subscriber has still to be sent
// is a set of topics, and of many changes of one topic within 50 ms it gets the first
// and the last.
package changes
