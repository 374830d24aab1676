package mcp

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"strings"
)

// Meta is the _meta object of requests, notifications, results and most
// definitions. Values are raw JSON. A nil Meta is empty and may be read.
//
// Keys with the prefix io.modelcontextprotocol/ or another reserved prefix
// belong to the protocol: values that user code sets for them are not sent.
//
// Spec: 2026-07-28 basic#meta
type Meta map[string]jsontext.Value

// Keys that the protocol defines.
const (
	// MetaProgressToken requests progress notifications for a request: a
	// ProgressToken.
	MetaProgressToken = "progressToken"
	// MetaProtocolVersion is the revision of a request, a string.
	MetaProtocolVersion = "io.modelcontextprotocol/protocolVersion"
	// MetaClientCapabilities are the client's capabilities for a request: ClientCapabilities.
	MetaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	// MetaClientInfo describes the sender of a request: an Implementation.
	MetaClientInfo = "io.modelcontextprotocol/clientInfo"
	// MetaServerInfo describes the sender of a result: an Implementation.
	MetaServerInfo = "io.modelcontextprotocol/serverInfo"
	// MetaSubscriptionID is the id of the request whose subscription a
	// notification or a ListenResult belongs to, a JSON string or integer.
	MetaSubscriptionID = "io.modelcontextprotocol/subscriptionId"
	// MetaRelatedTask is the task of 2025-11-25 that a message belongs to: a
	// RelatedTask.
	MetaRelatedTask = "io.modelcontextprotocol/related-task"
	// MetaModelImmediateResponse, in a CreateTaskResult of 2025-11-25, is a string for the model to
	// read while the task runs.
	MetaModelImmediateResponse = "io.modelcontextprotocol/model-immediate-response"

	// MetaTraceparent, MetaTracestate and MetaBaggage carry the W3C trace
	// context.
	MetaTraceparent = "traceparent"
	MetaTracestate  = "tracestate"
	MetaBaggage     = "baggage"
)

// MetaLogLevel requests log messages for a request: the minimum LoggingLevel.
//
// Deprecated: part of Logging (SEP-2577), which the first revision released on
// or after 2027-07-28 may remove.
const MetaLogLevel = "io.modelcontextprotocol/logLevel"

// Get decodes the value under key into out and reports whether there was one.
func (m Meta) Get(key string, out any) (bool, error) {
	raw, ok := m[key]
	if !ok {
		return false, nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return true, fmt.Errorf("_meta %q: %w", key, err)
	}
	return true, nil
}

// Set encodes v as JSON under key. The Meta must not be nil.
func (m Meta) Set(key string, v any) error {
	if err := CheckMetaKey(key); err != nil {
		return err
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("_meta %q: %w", key, err)
	}
	m[key] = raw
	return nil
}

// CheckMetaKey returns an error unless key follows the grammar of metadata keys: an
// optional prefix of dot-separated labels ending in a slash, then a name. A
// label starts with a letter and ends with a letter or digit, with letters,
// digits and hyphens between; a name starts and ends with a letter or digit,
// with hyphens, underscores and dots between, or is empty.
func CheckMetaKey(key string) error {
	prefix, name, found := strings.Cut(key, "/")
	if !found {
		prefix, name = "", key
	}
	if found {
		for label := range strings.SplitSeq(prefix, ".") {
			if !isMetaLabel(label) {
				return fmt.Errorf("_meta key %q: label %q of the prefix: want a letter, then letters, digits or hyphens, ending in a letter or digit", key, label)
			}
		}
	}
	if !isMetaName(name) {
		return fmt.Errorf("_meta key %q: name %q: want letters or digits at both ends, with '-', '_', '.' allowed between", key, name)
	}
	return nil
}

// ReservedMetaKey reports whether key belongs to the protocol: its prefix has
// modelcontextprotocol or mcp as second label, or it is progressToken.
func ReservedMetaKey(key string) bool {
	if key == "progressToken" {
		return true
	}
	prefix, _, found := strings.Cut(key, "/")
	if !found {
		return false
	}
	labels := strings.Split(prefix, ".")
	return len(labels) > 1 && (labels[1] == "modelcontextprotocol" || labels[1] == "mcp")
}

func isMetaLabel(s string) bool {
	if s == "" || !isLetter(s[0]) || !isAlnum(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if !isAlnum(s[i]) && s[i] != '-' {
			return false
		}
	}
	return true
}

func isMetaName(s string) bool {
	if s == "" {
		return true
	}
	if !isAlnum(s[0]) || !isAlnum(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if !isAlnum(s[i]) && !strings.ContainsRune("-_.", rune(s[i])) {
			return false
		}
	}
	return true
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isAlnum(c byte) bool { return isLetter(c) || '0' <= c && c <= '9' }
