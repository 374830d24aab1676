package dialect

import (
	"bytes"
	"fmt"

	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// Subscribed encodes a notification that is delivered on the subscription which
// the call opened: it carries the call's id, with its JSON type.
//
// Spec: 2026-07-28 basic/utilities/subscriptions
func (c *Call) Subscribed(method string, params any) ([]byte, error) {
	raw, err := c.Facts.marshal(params)
	if err != nil {
		return nil, err
	}
	members, user, err := splitMeta(raw)
	if err != nil {
		return nil, err
	}
	out := fmt.Appendf(nil, `{"_meta":{%s`, c.subscriptionID())
	if len(user) > 0 {
		out = append(append(out, ','), user...)
	}
	out = append(out, '}')
	if members = bytes.TrimSpace(members); len(members) > 0 {
		out = append(append(out, ','), members...)
	}
	return jsonrpc.AppendNotification(nil, method, append(out, '}')), nil
}

// SubscriptionEnd is the result that ends the subscription in an orderly way.
func (c *Call) SubscriptionEnd() *Encoded { return &Encoded{meta: c.subscriptionID()} }

// SubscriptionCancelled encodes the notification by which a server ends a
// subscription on a connection that is shared with other requests.
func (c *Call) SubscriptionCancelled() []byte { return encodeCancel(c.ID, "") }

func (c *Call) subscriptionID() []byte {
	return fmt.Appendf(nil, `"%s":%s`, keySubscription, c.ID.Raw())
}
