package dialect

import (
	"encoding/json/jsontext"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// BelongsTo returns the id of our request that a notification belongs to: the
// progress token, which is the request's id in all requests that we send, or
// the subscription id.
func BelongsTo(m jsonrpc.Message) (jsonrpc.ID, bool) {
	if m.Method == mcp.NotificationProgress {
		return idOf(rawjson.Member(m.Params, keyProgress))
	}
	return SubscriptionOf(m)
}

// SubscriptionOf returns the id of the subscription that a notification belongs
// to, and false if it belongs to none.
func SubscriptionOf(m jsonrpc.Message) (jsonrpc.ID, bool) {
	return idOf(rawjson.Member(rawjson.Member(m.Params, "_meta"), keySubscription))
}

// Cancelled returns the id of the request that a notification cancels, with the cause for its
// context, and false for every other notification.
func Cancelled(m jsonrpc.Message) (jsonrpc.ID, *mcp.CancelledError, bool) {
	if m.Method != mcp.NotificationCancelled {
		return jsonrpc.ID{}, nil, false
	}
	id, ok := idOf(rawjson.Member(m.Params, "requestId"))
	if !ok {
		return jsonrpc.ID{}, nil, false
	}
	cause := new(mcp.CancelledError)
	if reason := rawjson.Member(m.Params, "reason"); reason.Kind() == '"' {
		cause.Reason = clean(string(rawjson.Unquote(reason)), maxReason)
	}
	return id, cause, true
}

const maxReason = 1 << 10 // bytes of the reason of a cancellation

func idOf(raw jsontext.Value) (jsonrpc.ID, bool) {
	if raw == nil {
		return jsonrpc.ID{}, false
	}
	id, err := jsonrpc.ParseID(raw)
	return id, err == nil
}
