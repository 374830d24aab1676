package pgstore

import (
	"fmt"
	"time"
)

// Limits of mcp.Store, mcp.Bus and mcp.EventStore.
const (
	maxKey     = 256
	maxValue   = 1 << 20
	maxTopic   = 256
	maxMessage = 64 << 10
	maxStream  = 64
)

// checkText checks that a text has 1 to limit bytes from first to '~'.
func checkText(what, text string, first byte, limit int) error {
	if text == "" || len(text) > limit {
		return fmt.Errorf("%s of %d bytes: want 1 to %d", what, len(text), limit)
	}
	return checkBytes(what, text, first)
}

func checkBytes(what, text string, first byte) error {
	for _, c := range []byte(text) {
		if c < first || c > '~' {
			return fmt.Errorf("%s with the byte %#x: want printable ASCII", what, c)
		}
	}
	return nil
}

func checkKey(key string) error { return checkText("key", key, ' ', maxKey) }

func checkEntry(key string, value []byte, ttl time.Duration) error {
	if len(value) > maxValue {
		return fmt.Errorf("value of %d bytes: want at most %d", len(value), maxValue)
	}
	if ttl < 0 {
		return fmt.Errorf("time to live %v: want 0 or more", ttl)
	}
	return checkKey(key)
}

func checkTopic(topic string) error { return checkText("topic", topic, '!', maxTopic) }

func checkStream(stream string) error { return checkText("stream name", stream, ' ', maxStream) }
