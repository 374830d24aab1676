package console_test

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/console"
)

func TestRootsOfAServerAreChangedOnItsPage(t *testing.T) {
	t.Parallel()
	roots := &console.Roots{File: "/home/you/mcp.json", Client: true, Dirs: []string{"/srv/data", "/srv/\u202edata"}}
	s := &source{servers: []console.Server{{Status: host.Status{Key: "files", State: host.Ready}}}, roots: roots}
	b := enter(t, newConsole(t, s))
	body := b.get("servers/files")
	for _, want := range []string{"behind those of its client, as <code>/home/you/mcp.json</code>", ">/srv/data</code>", `id="addroot"`} {
		if !strings.Contains(body, want) {
			t.Errorf("got %s, want %s", body, want)
		}
	}
	if strings.Contains(body, `id="rootcode"`) || strings.Contains(body, "waits for your approval") {
		t.Errorf("got %s, want no code where none is shown", body)
	}
	id := func(dir string) string { return console.Root{Dir: dir}.ID() }
	for _, post := range []struct {
		action   string
		fields   []string
		did, to  string
		notFound bool
	}{
		{"addroot", []string{"do", "add", "dir", " /srv/more ", "code", "123456"}, `add root files /srv/more "123456"`, "?did=root#roots", false},
		{"addroot", []string{"do", "code", "dir", "/srv/more & less"}, "show a code for files /srv/more & less", "?did=code&dir=" + "%2Fsrv%2Fmore+%26+less" + "#roots", false},
		{"removeroot", []string{"root", id("/srv/\u202edata")}, "remove root files /srv/\u202edata", "?did=root#roots", false},
		{"removeroot", []string{"root", id("/srv/gone")}, "", "", true},
	} {
		s.did = nil
		response, body := b.post("servers/files/"+post.action, post.fields...)
		switch {
		case post.notFound && (response.StatusCode != 409 || len(s.did) > 0 || !strings.Contains(body, "no root of the server any more")):
			t.Errorf("%v: got %d, %q, %s, want nothing removed", post, response.StatusCode, s.did, body)
		case !post.notFound && (response.StatusCode != 303 || !slices.Equal(s.did, []string{post.did}) || response.Header.Get("Location") != b.path+"servers/files"+post.to):
			t.Errorf("%v: got %d, %q, %s", post, response.StatusCode, s.did, response.Header.Get("Location"))
		}
	}
	roots.NeedsCode, roots.Project = true, true
	body = b.get("servers/files?" + url.Values{"did": {"code"}, "dir": {"/srv/more"}}.Encode())
	for _, want := range []string{`id="rootcode"`, `value="/srv/more"`, "The host shows a code", "after a change the server waits for your approval"} {
		if !strings.Contains(body, want) {
			t.Errorf("got %s, want %s", body, want)
		}
	}
	s.failure = errors.New("the code is wrong")
	for _, do := range []string{"add", "code"} {
		if response, body := b.post("servers/files/addroot", "do", do, "dir", "/srv/more"); response.StatusCode != 409 || !strings.Contains(body, "the code is wrong") || !strings.Contains(body, `value="/srv/more"`) {
			t.Errorf("%s: got %d, %s, want the reason, and what was typed", do, response.StatusCode, body)
		}
	}
	roots.Problem = "the file is TOML"
	if body := b.get("servers/files"); !strings.Contains(body, "They cannot be changed here: the file is TOML") || strings.Contains(body, "addroot") || strings.Contains(body, "Remove") {
		t.Errorf("got %s, want no form", body)
	}
	s.roots = nil
	if body := b.get("servers/files"); strings.Contains(body, "Roots") {
		t.Errorf("got %s, want no roots of a server in no file", body)
	}
}
