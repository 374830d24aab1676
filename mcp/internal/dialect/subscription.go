package dialect

import (
	"bytes"
	"fmt"

	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// Announcement is a notification that many hear of, encoded once for all of one
// revision. In the stateless era each of them hears of it on a subscription, whose id
// is all in which their messages differ. The zero value is of revisions that have no
// such notification.
type Announcement struct {
	head, tail []byte // the id goes between the two, if there is a tail
}

// Announcement encodes a notification for all who hear of it.
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
	members, user, err := splitMeta(raw)
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

// subscriptionIDs stands for the ids of all subscriptions. No string in JSON can
// look like it.
const subscriptionIDs = `"` + keySubscription + `":0`

// IsZero reports whether nobody hears of the notification in its revision.
func (a Announcement) IsZero() bool { return a.head == nil }

// Message returns the notification for a session.
func (a Announcement) Message() []byte { return a.head }

// Subscribed returns the notification for the subscription that the call opened: it
// carries the call's id, with its JSON type.
func (a Announcement) Subscribed(c *Call) []byte {
	id := c.ID.Raw()
	msg := make([]byte, 0, len(a.head)+len(id)+len(a.tail))
	return append(append(append(msg, a.head...), id...), a.tail...)
}

// SubscriptionEnd is the result that ends the subscription in an orderly way.
func (c *Call) SubscriptionEnd() *Encoded { return &Encoded{meta: c.subscriptionID()} }

// SubscriptionCancelled encodes the notification by which a server ends a
// subscription on a connection that is shared with other requests.
func (c *Call) SubscriptionCancelled() []byte { return encodeCancel(c.ID, "") }

func (c *Call) subscriptionID() []byte {
	return fmt.Appendf(nil, `"%s":%s`, keySubscription, c.ID.Raw())
}
