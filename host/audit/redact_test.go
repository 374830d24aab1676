package audit_test

import (
	"encoding/json/jsontext"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/audit"
)

func TestSecretsAreLeftOutOfArgumentsByTheirPlace(t *testing.T) {
	t.Parallel()
	l, path := open(t, nil)
	l.Hide([]string{"known-cAnArY"})
	const arguments = `{
		"password": "cAnArY", "db_password": "cAnArY", "apiKey": "cAnArY", "api-token": {"a": "cAnArY", "b": ["cAnArY"]}, "Authorization": ["cAnArY"],
		"nested": [{"clientSecret": "cAnArY", "shown1": "plain"}], "key": "cAnArY", "pin": 123456, "secrets": null,
		"text": "the known-cAnArY one", "url": "https://u:cAnArY@example.com", "header": "Bearer cAnArY.cAnArY", "quoted": "{\"token\": \"cAnArY\"}",
		"shown2": "monkey", "keyboard": "shown3", "passenger": "shown4", "spin": "shown5"
	}`
	if err := l.Write(host.Decision{Time: time.Now(), Upstream: "u", ArgumentsText: jsontext.Value(arguments)}); err != nil {
		t.Fatal(err)
	}
	line := read(t, path)
	if strings.Contains(line, "cAnArY") || strings.Contains(line, "123456") {
		t.Errorf("got %s, want no secret", line)
	}
	for _, shown := range []string{"plain", "monkey", "shown3", "shown4", "shown5", "keyboard"} {
		if !strings.Contains(line, shown) {
			t.Errorf("got %s, want %s in it", line, shown)
		}
	}
}

// Each text of a line may have a known secret, also as URLs have it.
func TestKnownSecretsAreLeftOutOfEveryText(t *testing.T) {
	t.Parallel()
	l, path := open(t, nil)
	const secret = "c4n4ry/+& %\u00e4"
	l.Hide([]string{secret})
	for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret), strings.ReplaceAll(url.QueryEscape(secret), "+", "%20")} {
		text := "a " + form + " b"
		d := host.Decision{Time: time.Now(), Client: text, Upstream: "u", Action: host.ActionCall, Name: text, Reason: text, ArgumentsText: jsontext.Value(`{"a": "` + text + `"}`)}
		if err := l.Write(d); err != nil {
			t.Fatal(err)
		}
		all := records(t, path, audit.Query{})
		r := all[len(all)-1]
		for member, got := range map[string]string{"client": r.Client, "name": r.Name, "reason": r.Reason} {
			if got != "a [hidden] b" {
				t.Errorf("%s of %q: got %q, want the secret hidden", member, text, got)
			}
		}
		if want := `{"a":"a [hidden] b"}`; r.ArgumentsText != want {
			t.Errorf("arguments with %q: got %s, want %s", text, r.ArgumentsText, want)
		}
	}
}

func TestSecretsAreLeftOutOfURIsByTheirPlace(t *testing.T) {
	t.Parallel()
	l, path := open(t, nil)
	for uri, want := range map[string]string{
		"https://u:cAnArY@h/p?x=1":                 "https[hidden]h/p?x=1",
		"db://h/t?api_key=cAnArY&id=7":             "db://h/t?api_key=[hidden]&id=7",
		"db://h/t?a%70i_key=cAnArY;X-Amz-Token=cA": "db://h/t?a%70i_key=[hidden]&X-Amz-Token=[hidden]",
		"res://h/p#access_token=cAnArY":            "res://h/p#[hidden]",
		"file:///home/a b":                         "file:///home/a b",
		"read_file":                                "read_file",
	} {
		if err := l.Write(host.Decision{Time: time.Now(), Upstream: "u", Action: host.ActionRead, Name: uri}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(read(t, path)), "\n")
		if got := lines[len(lines)-1]; !strings.Contains(strings.ReplaceAll(got, `\u0026`, "&"), `"name":"`+want+`"`) {
			t.Errorf("%s: got %s, want %s", uri, got, want)
		}
	}
}
