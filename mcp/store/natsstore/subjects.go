package natsstore

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// plain are the characters that stand for themselves in subjects.
const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// Limits of mcp.Store, mcp.Bus and mcp.EventStore.
const (
	maxKey     = 256
	maxValue   = 1 << 20
	maxTopic   = 256
	maxMessage = 64 << 10
	maxStream  = 64
)

// A namespace makes the names of streams and subjects. A subject has tokens that are separated
// by dots, and clients and servers give a meaning to dots, spaces and wildcards. So a name is
// escaped: letters, digits, - and _ stay, every other byte becomes = and two hexadecimal digits.
//
// A key has a token for each of its segments, which end with a separator:
//
//	task.4711/a b    <namespace>.store.<part>.task=2e.4711=2f.a=20b.=
//
// The last token = ends the key, because "a/" may be a key beside "a/b". So the keys that begin
// with a prefix are found by a wildcard after its last separator. The longest subject has
// 1,024 bytes for its key, less than servers accept.
type namespace string

// separators end the segments of keys.
const separators = "./:"

// endOfKey is the last token of a key. No escaped byte is =.
const endOfKey = "="

// value returns the subject of a part of the value of a key. Part 0 is the first one, and * all.
func (n namespace) value(part, key string) string {
	return n.values(part) + string(appendSegments(nil, key)) + endOfKey
}

// valuesBelow returns the filter for the first parts of the keys that begin with a prefix. It may
// match others as well.
func (n namespace) valuesBelow(prefix string) string {
	prefix = prefix[:strings.LastIndexAny(prefix, separators)+1]
	return n.values("0") + string(appendSegments(nil, prefix)) + ">"
}

func (n namespace) values(part string) string { return string(n) + ".store." + part + "." }

// key returns the key of the first part of a value.
func (n namespace) key(subject string) (key string, ok bool) {
	segments, ok := strings.CutPrefix(subject, n.values("0"))
	if !ok || !strings.HasSuffix(segments, "."+endOfKey) {
		return "", false
	}
	segments = strings.TrimSuffix(segments, endOfKey)
	return unescaped(strings.ReplaceAll(segments, ".", ""))
}

// appendSegments appends the tokens of a key, each with a dot.
func appendSegments(b []byte, key string) []byte {
	for i := range len(key) {
		b = appendEscaped(b, key[i])
		if strings.IndexByte(separators, key[i]) >= 0 {
			b = append(b, '.')
		}
	}
	if len(b) > 0 && b[len(b)-1] != '.' {
		b = append(b, '.')
	}
	return b
}

func (n namespace) topic(topic string) string { return string(n) + ".bus." + escaped(topic) }

// eventsOf returns the filter for the events of a stream.
func (n namespace) eventsOf(stream string) string {
	return string(n) + ".events." + escaped(stream) + ".>"
}

// firstParts returns the filter for the first part of each event of a stream.
func (n namespace) firstParts(stream string) string {
	return string(n) + ".events." + escaped(stream) + ".*.0"
}

// event returns the subject of a part of an event.
func (n namespace) event(stream string, number int64, part string) string {
	return fmt.Sprintf("%s.events.%s.%d.%s", n, escaped(stream), number, part)
}

// eventNumber returns the number of the event of a subject that firstParts matches.
func eventNumber(subject string) (number int64, ok bool) {
	tokens := strings.Split(subject, ".")
	if len(tokens) < 2 {
		return 0, false
	}
	number, err := strconv.ParseInt(tokens[len(tokens)-2], 10, 64)
	return number, err == nil
}

func escaped(s string) string {
	var b []byte
	for i := range len(s) {
		b = appendEscaped(b, s[i])
	}
	return string(b)
}

func appendEscaped(b []byte, c byte) []byte {
	if strings.IndexByte(plain, c) >= 0 {
		return append(b, c)
	}
	return hex.AppendEncode(append(b, '='), []byte{c})
}

// unescaped is the inverse of escaped. It reports false for what escaped does not return.
func unescaped(s string) (string, bool) {
	var b []byte
	for rest := s; rest != ""; {
		if rest[0] != '=' {
			b, rest = append(b, rest[0]), rest[1:]
			continue
		}
		if len(rest) < 3 {
			return "", false
		}
		var err error
		if b, err = hex.AppendDecode(b, []byte(rest[1:3])); err != nil {
			return "", false
		}
		rest = rest[3:]
	}
	return string(b), escaped(string(b)) == s
}

func checkKey(key string) error { return checkName("key", key, maxKey, ' ') }

func checkTopic(topic string) error { return checkName("topic", topic, maxTopic, '!') }

func checkStream(name string) error { return checkName("stream", name, maxStream, ' ') }

// checkName returns an error unless a name has 1 to limit characters from first to ~.
func checkName(kind, name string, limit int, first byte) error {
	if name == "" || len(name) > limit {
		return fmt.Errorf("%s of %d bytes: want 1 to %d", kind, len(name), limit)
	}
	for i := range len(name) {
		if name[i] < first || name[i] > '~' {
			return fmt.Errorf("%s %q: want characters from %q to ~", kind, name, first)
		}
	}
	return nil
}
