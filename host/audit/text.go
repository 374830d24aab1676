package audit

import (
	"regexp"

	"github.com/fondaco/fondaco/host"
)

// beyondOrigin matches a URL up to its origin, and the rest of it, which may contain secrets, without a mark of
// the sentence behind it.
var beyondOrigin = regexp.MustCompile(`(?i)\b((?:https?|wss?)://[^/\s"'?#]+)[/?#](?:[^\s"']*[^\s"':;,])?`)

// TextRedactor returns a function that removes secrets from a line of a log: the given ones, what looks
// like one, and all of an HTTP URL but its origin.
func TextRedactor(secrets []string) func(string) string {
	r := newRedactor(secrets)
	return func(text string) string { return r.redactAll(originsOnly(text)) }
}

// KnownRedactor returns a function that removes the given secrets from a text, and nothing else.
func KnownRedactor(secrets []string) func(string) string { return newRedactor(secrets).known.Replace }

// originsOnly returns a text with all of the HTTP URLs in it hidden but their origins.
func originsOnly(text string) string { return beyondOrigin.ReplaceAllString(text, "$1/"+host.Hidden) }
