package mcp

import "context"

// Bus carries short notices between the replicas of a server: that a list
// changed, that a task was answered, that a call is cancelled.
//
// Delivery is at most once. A notice may be lost, so it says where to look and
// what it says is kept in a Store, or its loss only delays something. Topics
// are at most 256 bytes of printable ASCII without spaces; messages are at most
// 64 KiB. Methods are safe for concurrent use and do not keep msg.
type Bus interface {
	// Publish sends msg to those who are subscribed to topic now, on all replicas
	// and on this one. It does not wait until they have taken it.
	Publish(ctx context.Context, topic string, msg []byte) error

	// Subscribe calls deliver for every message on topic, one at a time, and in
	// the order in which each publisher sent them. Messages published after
	// Subscribe has returned are delivered. deliver owns msg and must not block:
	// a subscriber that falls behind loses messages.
	//
	// The subscription lasts until cancel is called, and not only until ctx ends,
	// which bounds the wait for the subscription itself. cancel returns when
	// deliver has, and so must not be called by it; it may be called again.
	Subscribe(ctx context.Context, topic string, deliver func(msg []byte)) (cancel func(), err error)
}
