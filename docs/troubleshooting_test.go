package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

var messageCell = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")

// systemMessages are those of the operating system or of Go.
var systemMessages = map[string]bool{"connection refused": true, "proxyconnect tcp": true}

// TestMessagesOfTroubleshootingAreInTheSource looks for the messages in the first column of
// the tables; what is between two "…" has to be in the source literally.
func TestMessagesOfTroubleshootingAreInTheSource(t *testing.T) {
	t.Parallel()
	page := readPage(t, "troubleshooting.md")
	_, page, _ = strings.Cut(page, "## A program does not start")
	source := sourceOf(t, func(name string) bool { return !isTest.MatchString(name) && !strings.HasPrefix(name, "docs/") })
	messages := messageCell.FindAllStringSubmatch(page, -1)
	if len(messages) < 50 {
		t.Fatalf("got %d messages, want more", len(messages))
	}
	for _, m := range messages {
		if systemMessages[m[1]] {
			continue
		}
		for part := range strings.SplitSeq(m[1], "…") {
			if !strings.Contains(source, strings.TrimSpace(part)) {
				t.Errorf("no message has %q, of %q", part, m[1])
			}
		}
	}
}
