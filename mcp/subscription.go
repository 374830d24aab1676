package mcp

import "encoding/json/jsontext"

// SubscriptionFilter selects the notifications of a subscription.
//
// Spec: 2026-07-28 basic/patterns/subscriptions
type SubscriptionFilter struct {
	ToolsListChanged     bool `json:"toolsListChanged,omitzero"`
	PromptsListChanged   bool `json:"promptsListChanged,omitzero"`
	ResourcesListChanged bool `json:"resourcesListChanged,omitzero"`
	// ResourceSubscriptions are the URIs of the resources whose updates are
	// requested.
	ResourceSubscriptions []string `json:"resourceSubscriptions,omitzero"`
	// Extra holds the members that this version does not know, such as those of
	// extensions, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// ListenParams are the params of subscriptions/listen.
type ListenParams struct {
	Notifications SubscriptionFilter `json:"notifications"`
	Meta          Meta               `json:"_meta,omitempty"`
}

// ListenResult is the result of subscriptions/listen; it ends the subscription.
// MetaSubscriptionID in its metadata identifies the subscription.
type ListenResult struct {
	ResultBase
}

// AcknowledgedParams are the params of notifications/subscriptions/acknowledged.
type AcknowledgedParams struct {
	// Notifications is the part of the filter that the server supports.
	Notifications SubscriptionFilter `json:"notifications"`
	Meta          Meta               `json:"_meta,omitempty"`
}

// ResourceUpdatedParams are the params of notifications/resources/updated.
type ResourceUpdatedParams struct {
	// URI may identify a part of the resource that the client subscribed to.
	URI  string `json:"uri"`
	Meta Meta   `json:"_meta,omitempty"`
}

// SubscribeParams are the params of resources/subscribe and
// resources/unsubscribe, which belong to the session era.
type SubscribeParams struct {
	URI  string `json:"uri"`
	Meta Meta   `json:"_meta,omitempty"`
}
