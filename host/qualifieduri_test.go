package host_test

import (
	"testing"

	"github.com/fondaco/fondaco/host"
)

func TestQualifiedURIsAreParsedAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	for _, uri := range []string{
		"notes://a", "notes://a/b%2Fc?x=1&y#z", "file:///etc/hosts", "urn:isbn:1", "notes://{title}{?x*}",
		"fondaco://b/notes://a", "notes:///../..", "x",
	} {
		qualified := host.QualifiedURI("my-notes", uri)
		if key, back, ok := host.ParseQualifiedURI(qualified); key != "my-notes" || back != uri || !ok {
			t.Errorf("%s: got %q, %q, %t, want my-notes and %q", qualified, key, back, ok, uri)
		}
		if !host.IsQualified(qualified) {
			t.Errorf("%s: want it recognized", qualified)
		}
	}
	for _, uri := range []string{"", "notes://a", "fondaco://", "fondaco://a", "fondaco://a/", "fondaco:///notes://a", "fondaco://A/notes://a", "fondaco:a/b", "FONDACO://a/notes://a"} {
		if key, back, ok := host.ParseQualifiedURI(uri); ok {
			t.Errorf("%q: got %q, %q, want no qualified URI", uri, key, back)
		}
	}
	if host.IsQualified("fondacos://a/b") || host.IsQualified("notes") || !host.IsQualified("Fondaco:x") {
		t.Error("want exactly the URIs of the host's scheme")
	}
}
