package mcp_test

import (
	"testing"

	"github.com/fondaco/fondaco/mcp"
)

func TestContentsAreTextWhereTypeAndBytesAreText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		mimeType, data string
		text           bool
	}{
		{"", "text", true},
		{"", "", true},
		{"text/x-anything", "text", true},
		{"TEXT/html; charset=utf-8", "text", true},
		{"application/json", "{}", true},
		{"application/problem+json", "{}", true},
		{"image/svg+xml", "<svg/>", true},
		{"image/png", "text", false},
		{"application/octet-stream", "", false},
		{"text/plain", "\xff", false},
	} {
		data := []byte(test.data)
		c := mcp.NewResourceContents("x://y", test.mimeType, data)
		clear(data)
		got := c.Text
		if c.IsBlob() {
			got = string(c.Blob)
		}
		if c.IsBlob() == test.text || got != test.data || c.URI != "x://y" || c.MIMEType != test.mimeType {
			t.Errorf("%q of type %q: got %+v, want text %t", test.data, test.mimeType, c, test.text)
		}
	}
}
