package mcp

import "context"

// Bus carries short messages between the replicas of a server: that a list
// changed, that a task was answered, that a call is cancelled.
//
// Delivery is at most once. A message may be lost, so its content is also kept
// in a Store, or its loss only delays something. Topics are at most 256 bytes
// of printable ASCII without spaces; messages are at most 64 KiB. Methods are
// safe for concurrent use and do not keep msg.
type Bus interface {
	// Publish sends msg to the present subscribers of topic on all replicas,
	// including this one. It does not wait for delivery. After an error msg may be delivered
	// nevertheless, also after messages that are sent later.
	Publish(ctx context.Context, topic string, msg []byte) error

	// Subscribe calls deliver for every message on topic, one at a time, and in
	// the order in which each publisher sent them. Messages published after
	// Subscribe has returned are delivered. deliver owns msg and must not block:
	// a subscriber that falls behind loses messages.
	//
	// The subscription lasts until cancel is called, and not only until ctx
	// ends, which bounds the wait for the subscription itself. cancel waits
	// until a running deliver returns, so deliver must not call it; it may be
	// called again.
	Subscribe(ctx context.Context, topic string, deliver func(msg []byte)) (cancel func(), err error)
}
