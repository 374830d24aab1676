package streamhttp

import "github.com/fondaco/fondaco/mcp"

// NewEventMemory returns the default EventStore.
func NewEventMemory() mcp.EventStore { return newEventMemory(eventMemorySize) }
