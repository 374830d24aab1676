package host_test

import (
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
)

func TestNearestNameIsSuggested(t *testing.T) {
	t.Parallel()
	known := []string{"files/read_file", "files/write_file", "weather", "tools", "call", ""}
	for written, want := range map[string]string{
		"files/raed_file":       "files/read_file",
		"file/write_file":       "files/write_file",
		"FILES/READ_FILE":       "files/read_file",
		"wether":                "weather",
		"tolos":                 "tools",
		"cal":                   "call",
		"nothing like it":       "",
		"rm":                    "",
		strings.Repeat("x", 99): "",
	} {
		if got := host.Suggest(written, known); got != want {
			t.Errorf("%s: got %q, want %q", written, got, want)
		}
	}
}
