package changes

import (
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// Topic is the subject of a change: a list, or one resource.
type Topic struct {
	method  string // the notification that announces the change
	subject string // the URI of a resource, or empty
}

// ResourceTopic returns the topic of one resource.
func ResourceTopic(uri string) Topic { return Topic{mcp.NotificationResourceUpdated, uri} }

// allLists are the topics to which every session is subscribed.
var allLists = Topics(mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true})

// Topics returns the topics of a filter.
func Topics(f mcp.SubscriptionFilter) []Topic {
	var topics []Topic
	if f.ToolsListChanged {
		topics = append(topics, Topic{method: mcp.NotificationToolsListChanged})
	}
	if f.PromptsListChanged {
		topics = append(topics, Topic{method: mcp.NotificationPromptsListChanged})
	}
	if f.ResourcesListChanged {
		topics = append(topics, Topic{method: mcp.NotificationResourcesListChanged})
	}
	for _, uri := range f.ResourceSubscriptions {
		topics = append(topics, ResourceTopic(uri))
	}
	return topics
}

// Event is one change. It is encoded once per revision, for all subscribers.
type Event struct {
	topic Topic

	mu      sync.Mutex
	encoded map[*dialect.Facts]dialect.Announcement // guarded by mu
}

func newEvent(t Topic) *Event { return &Event{topic: t} }

// params returns the params of the notification.
func (e *Event) params() any {
	if e.topic.method == mcp.NotificationResourceUpdated {
		return &mcp.ResourceUpdatedParams{URI: e.topic.subject}
	}
	return &mcp.EmptyParams{}
}

// In returns the event in the form of a revision.
func (e *Event) In(f *dialect.Facts) (dialect.Announcement, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	a, known := e.encoded[f]
	if known {
		return a, nil
	}
	a, err := f.Announcement(e.topic.method, e.params())
	if err != nil {
		return a, err
	}
	if e.encoded == nil {
		e.encoded = make(map[*dialect.Facts]dialect.Announcement)
	}
	e.encoded[f] = a
	return a, nil
}
