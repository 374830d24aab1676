package spawn

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
)

func TestBrowserGetsOneSafeArgumentOrNone(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-183a", "R-183b")
	for address, want := range map[string]string{
		"https://as.example/authorize?a=b&c=d%20e#f": "https://as.example/authorize?a=b&c=d%20e#f",
		"http://127.0.0.1:8080/cb":                   "http://127.0.0.1:8080/cb",
		"http://[::1]:8080/":                         "http://[::1]:8080/",
		"HTTPS://as.example":                         "https://as.example",
		"https://as.example/$(calc)?x=`id`&y='\"|;":  "https://as.example/%24%28calc%29?x=%60id%60&y=%27%22%7C%3B",
		"https://as.example/a b?c d":                 "https://as.example/a%20b?c%20d",
		"https://as.example/%":                       "",
		"https://as.example/?%^%PATH%":               "https://as.example/?%25%5E%25PATH%25",
		"https://as.example/é?é":                     "https://as.example/%C3%A9?%C3%A9",
		"https://as.example/\r\n--headless":          "",
		"https://as.example;calc/":                   "",
		"https://$(calc).example/":                   "",
		"https://a'b/":                               "",
		"https://user@as.example/":                   "",
		"https://bücher.example/":                    "",
		"http://as.example/":                         "",
		"http://127.0.0.1.evil.example/":             "",
		"--new-window=https://as.example":            "",
		"-https://as.example":                        "",
		"javascript:alert(1)":                        "",
		"javascript://as.example/%0aalert(1)":        "",
		"data:text/html,x":                           "",
		"file:///etc/passwd":                         "",
		"vbscript:x":                                 "",
		"blob:https://as.example/1":                  "",
		"ms-settings:x":                              "",
		`\\evil.example\share`:                       "",
		"//as.example/":                              "",
		"calc.exe":                                   "",
		"":                                           "",
	} {
		var launched [][]string
		err := open(t.Context(), address, func(_ context.Context, argv []string) error {
			launched = append(launched, argv)
			return nil
		})
		switch {
		case want == "":
			if err == nil || len(launched) > 0 {
				t.Errorf("%q: launched %q, %v", address, launched, err)
			}
		case len(launched) != 1 || !slices.Equal(launched[0], append(browserCommand(), want)):
			t.Errorf("%q: launched %q, want one with %s", address, launched, want)
		case strings.ContainsAny(want, " '\"`$();|<>^\\"):
			t.Errorf("%q: %s is not clean", address, want)
		}
	}
}

func TestLaunchFailsWithItsProgram(t *testing.T) {
	t.Parallel()
	if err := launch(t.Context(), []string{"/no/such/program", "https://as.example"}); err == nil {
		t.Error("want an error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := launch(ctx, []string{"go", "version"}); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
