package dialect

import (
	"bytes"
	"fmt"

	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// Announcement is a notification to many receivers, encoded once for all receivers of one revision.
// In the stateless era their messages differ only in the subscription id. The zero value is for
// revisions that have no such notification.
type Announcement struct {
	head, tail []byte // the id goes between the two, if there is a tail
}

// Announcement encodes a notification for all its receivers.
//
// Spec: 2026-07-28 basic/utilities/subscriptions
func (f *Facts) Announcement(method string, params any) (Announcement, error) {
	if f.Era == SessionEra {
		msg, err := f.Notification(method, params)
		return Announcement{head: msg}, err
	}
	raw, err := f.marshal(params)
	if err != nil {
		return Announcement{}, err
	}
	if string(raw) == "null" {
		raw = []byte("{}")
	}
	members, meta, err := splitMeta(raw)
	if err != nil {
		return Announcement{}, err
	}
	user, err := metaMembers(meta)
	if err != nil {
		return Announcement{}, err
	}
	out := append([]byte(`{"_meta":{`), subscriptionIDs...)
	if len(user) > 0 {
		out = append(append(out, ','), user...)
	}
	out = append(out, '}')
	if members = bytes.TrimSpace(members); len(members) > 0 {
		out = append(append(out, ','), members...)
	}
	msg := jsonrpc.AppendNotification(nil, method, append(out, '}'))
	at := bytes.Index(msg, []byte(subscriptionIDs)) + len(subscriptionIDs)
	return Announcement{head: msg[:at-len("0")], tail: msg[at:]}, nil
}

// subscriptionIDs is the placeholder of the subscription id. It cannot occur in
// a JSON string.
const subscriptionIDs = `"` + keySubscription + `":0`

// IsZero reports whether the revision has no such notification.
func (a Announcement) IsZero() bool { return a.head == nil }

// Message returns the notification for a session.
func (a Announcement) Message() []byte { return a.head }

// Subscribed returns the notification for the subscription that the call opened. Its subscription
// id is the call's id, with the same JSON type.
func (a Announcement) Subscribed(c *Call) []byte {
	id := c.ID.Raw()
	msg := make([]byte, 0, len(a.head)+len(id)+len(a.tail))
	return append(append(append(msg, a.head...), id...), a.tail...)
}

// SubscriptionEnd returns the result that ends the subscription.
func (c *Call) SubscriptionEnd() *Encoded { return &Encoded{meta: c.subscriptionID()} }

// SubscriptionCancelled encodes the notification that ends a subscription on a
// connection that other requests share.
func (c *Call) SubscriptionCancelled() []byte { return encodeCancel(c.ID, "") }

func (c *Call) subscriptionID() []byte {
	return fmt.Appendf(nil, `"%s":%s`, keySubscription, c.ID.Raw())
}
