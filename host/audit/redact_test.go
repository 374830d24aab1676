package audit_test

import (
	"encoding/json/jsontext"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
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
