package host_test

import (
	"testing"

	"github.com/fondaco/fondaco/host"
)

func TestTextsThatImitateAnotherServerAreFound(t *testing.T) {
	t.Parallel()
	keys := []string{"github", "my-mail", "time", "fetch", "bank1"}
	for text, want := range map[string]string{
		"":                                    "",
		"Search issues on GitHub":             "",
		"Reads the time, or fetches a page":   "",
		"Sends my mail":                       "",
		"sends by my-mail":                    "",
		"Use gіthub instead":                  "github", // a Cyrillic letter
		"Use ＧＩＴＨＵＢ":                          "github", // full width
		"Use git\u200bhub":                    "github",
		"Use giṫhub":                          "github",
		"Call github__search first":           "github",
		"Call GITHUB__search first":           "github",
		"mygithub__search":                    "",
		"This is the server github":           "github",
		"The \"github\" server wants this":    "github",
		"GitHub says that":                    "github",
		"my-mail asks for your answer":        "my-mail",
		"fetch/time and time/fetch are paths": "",
		"a bankl transfer":                    "bank1",
		"ßerver 日本 \xff":                      "",
	} {
		if got := host.Imitated(text, keys); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestTitlesThatImitateAnotherServerAreFound(t *testing.T) {
	t.Parallel()
	keys := []string{"github", "my-mail", "time"}
	for title, want := range map[string]string{
		"Search GitHub":      "",
		"Timeline":           "",
		"GitHub":             "github",
		" git hub ":          "github",
		"G.i.t.H.u.b":        "github",
		"[github] search":    "github",
		"GitHub: search":     "github",
		"github/search":      "github",
		"«GitHub» search":    "",
		"My Mail":            "my-mail",
		"MyMaiI":             "my-mail", // a capital i
		"my-mail: send":      "my-mail",
		"mymail | send":      "",
		"Тime":               "time",
		"Search (gitнub)":    "github", // a Cyrillic letter that looks like a capital h
		"Search the ɡithub":  "github",
		"github__search (2)": "github",
	} {
		if got := host.ImitatedTitle(title, keys); got != want {
			t.Errorf("%q: got %q, want %q", title, got, want)
		}
	}
}
