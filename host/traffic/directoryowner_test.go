package traffic_test

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/traffic"
	"github.com/fondaco/fondaco/mcp"
)

// from returns a message of an anonymous client with that address.
func from(address string, m mcp.WireMessage) mcp.WireMessage {
	m.Principal, m.Address = mcp.PrincipalAnonymous, netip.MustParseAddr(address)
	return m
}

const listTools = `{"id":1,"method":"tools/list","params":{"text":"%s","_meta":{"io.modelcontextprotocol/clientInfo":{"name":"%s"}}}}`

// One client makes up ids of sessions, names and addresses until the directory is full many times over. The sessions of
// others, which have less than their share, keep each message.
func TestNoOwnerRemovesRecordingsOfOthersBelowTheirShare(t *testing.T) {
	text := strings.Repeat("x", 2000)
	for name, attack := range map[string]func(d *traffic.Directory, conn uint64){
		"sessions": func(d *traffic.Directory, conn uint64) {
			session := fmt.Sprintf("%08d", conn)
			d.Record("", from("203.0.113.9", httpRequest(conn, session, `{"id":1,"method":"ping","params":{"text":"`+text+`"}}`)))
			d.Record("", from("203.0.113.9", httpResponse(conn, 200, session, `{"id":1,"result":{}}`)))
		},
		"names": func(d *traffic.Directory, conn uint64) {
			d.Record("", from("203.0.113.9", httpRequest(conn, "", fmt.Sprintf(listTools, text, fmt.Sprint("name", conn)))))
			d.Record("", from("203.0.113.9", httpResponse(conn, 200, "", `{"id":1,"result":{}}`)))
		},
		"addresses": func(d *traffic.Directory, conn uint64) {
			address := fmt.Sprintf("2001:db8:%x::1", conn)
			d.Record("", from(address, httpRequest(conn, "", fmt.Sprintf(listTools, text, "curl"))))
			d.Record("", from(address, httpResponse(conn, 200, "", `{"id":1,"result":{}}`)))
		},
		"a principal": func(d *traffic.Directory, conn uint64) {
			session := fmt.Sprintf("%08d", conn)
			for _, m := range []mcp.WireMessage{
				httpRequest(conn, session, `{"id":1,"method":"ping","params":{"text":"`+text+`"}}`), httpResponse(conn, 200, session, `{"id":1,"result":{}}`),
			} {
				m.Principal.Subject = "mallory"
				d.Record("", m)
			}
		},
		"connections to an upstream": func(d *traffic.Directory, conn uint64) {
			m := sent(conn, `{"id":1,"method":"ping","params":{"text":"`+text+`"}}`)
			m.Principal = mcp.PrincipalAnonymous
			d.Record("git", m)
		},
	} {
		t.Run(name, func(t *testing.T) {
			const calls = 10
			dir := filepath.Join(t.TempDir(), "recordings")
			got := recordIn(t, dir, &traffic.DirectoryOptions{MaxBytes: 128 << 10}, func(d *traffic.Directory) {
				d.Record("git", sent(1, `{"id":1,"method":"prompts/list"}`)) // the shared connection
				for n := range uint64(calls) {
					d.Record("", httpRequest(10+n, "victim00", `{"id":1,"method":"tools/call"}`))
					d.Record("", httpResponse(10+n, 200, "victim00", `{"id":1,"result":{}}`))
					for i := range uint64(100) {
						attack(d, 1000+100*n+i)
					}
				}
			})
			if n := len(methods(got["clients-victim00"])); n != 2*calls {
				t.Errorf("got %d messages of the session of another owner, want %d; files: %d", n, 2*calls, len(got))
			}
			if !slices.Equal(methods(got["git-c1"]), []string{"prompts/list"}) {
				t.Errorf("got %v of the shared connection, want its message", got["git-c1"])
			}
		})
	}
}

// Anybody can send any id of a session. The server refuses it.
func TestRefusedSessionsHaveNoFile(t *testing.T) {
	got := recordIn(t, filepath.Join(t.TempDir(), "recordings"), nil, func(d *traffic.Directory) {
		for conn := range uint64(50) {
			d.Record("", from("203.0.113.9", httpRequest(1+conn, fmt.Sprintf("%08d", conn), `{"id":1,"method":"ping"}`)))
			d.Record("", from("203.0.113.9", httpResponse(1+conn, 404, "", `{"error":{"code":-32001,"message":"no such session"}}`)))
		}
		d.Record("", from("203.0.113.9", httpRequest(100, "", `{"id":2,"method":"initialize"}`)))
		d.Record("", from("203.0.113.9", httpRequest(101, "", `{"id":3,"method":"tools/list"}`))) // both without a response
	})
	if len(got) != 1 || len(methods(got["clients-no-session"])) != 102 {
		t.Errorf("got %d files, and %d messages without a session, want one file with 102", len(got), len(methods(got["clients-no-session"])))
	}
}

func TestRequestsWithoutAResponseAreRecordedOrCounted(t *testing.T) {
	got := recordIn(t, filepath.Join(t.TempDir(), "recordings"), nil, func(d *traffic.Directory) {
		m := httpRequest(1, "", `{"id":0,"method":"initialize"}`)
		m.Sent = true
		d.Record("git", m)
		d.Record("", httpRequest(2, "", `{"id":0,"method":"tools/list"}`))
	})
	for name, want := range map[string]string{"git-no-session": "initialize", "clients-no-session": "tools/list"} {
		if rec := got[name]; !slices.Equal(methods(rec), []string{want}) || !rec.FromClient(&rec.Lines[0]) {
			t.Errorf("%s: got %q, want the request %s of a client", name, methods(rec), want)
		}
	}
	var lost []error
	d, err := traffic.OpenDirectory(filepath.Join(t.TempDir(), "recordings"), &traffic.DirectoryOptions{OnError: func(err error) { lost = append(lost, err) }})
	if err != nil {
		t.Fatal(err)
	}
	for conn := range uint64(2048 + 3) {
		d.Record("", httpRequest(1+conn, "", `{"id":0,"method":"tools/list"}`))
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if len(lost) == 0 || !strings.HasSuffix(lost[0].Error(), ": 3") {
		t.Errorf("got %v, want that three messages were left out", lost)
	}
}

func TestRecordingThatBeginsInASessionBeginsWithItsHandshake(t *testing.T) {
	const (
		initialize = `{"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"ide"},"apiToken":"secret1"}}`
		result     = `{"id":0,"result":{"serverInfo":{"name":"fondaco"},"password":"secret2"}}`
		known      = `{"id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/clientInfo":{"name":"cli"}}}}`
		list       = `{"id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/clientInfo":{"name":"cli"}}}}`
		session    = "0123456789abcdef"
	)
	begin := []struct {
		upstream string
		m        mcp.WireMessage
	}{
		{"", httpRequest(1, "", initialize)},
		{"git", sent(2, initialize)},
		{"git", read(2, `{"method":"notifications/message"}`)},
		{"git", read(2, result)},
		{"", event(httpResponse(1, 200, session, result))},
		{"", httpRequest(3, "", known)},
		{"", httpResponse(3, 200, "", `{"id":1,"result":{}}`)},
		{"", httpRequest(4, "", initialize)}, // another one, which the server refuses
		{"", httpResponse(4, 400, "", `{"id":0,"error":{"code":-32600}}`)},
	}
	handshakes := traffic.NewHandshakes()
	for _, b := range begin {
		handshakes.Record(b.upstream, b.m)
	}
	handshaken := &traffic.DirectoryOptions{
		Handshakes: handshakes, MaxBytes: 64 << 10, Hide: func(line string) string { return strings.ReplaceAll(line, "fondaco", "[hidden]") },
	}
	dir := filepath.Join(t.TempDir(), "middle")
	got := recordIn(t, dir, handshaken, func(d *traffic.Directory) {
		d.Record("", httpRequest(5, session, `{"id":1,"method":"tools/call"}`))
		d.Record("", httpResponse(5, 200, "", `{"id":1,"result":{}}`))
		d.Record("git", sent(2, `{"id":1,"method":"tools/call"}`))
		d.Record("", httpRequest(6, "", list))
		d.Record("", httpResponse(6, 200, "", `{"id":2,"result":{}}`))
	})
	for name, want := range map[string][]string{
		"clients-01234567": {"initialize", "initialize", "tools/call", "tools/call"},
		"git-c2":           {"initialize", "initialize", "tools/call"},
		"clients-cli":      {"server/discover", "server/discover", "tools/list", "tools/list"},
	} {
		rec := got[name]
		if !slices.Equal(methods(rec), want) {
			t.Errorf("%s: got %q, want %q", name, methods(rec), want)
			continue
		}
		for _, l := range rec.Lines {
			if text := string(l.Payload); strings.Contains(text, "secret") || strings.Contains(text, "fondaco") {
				t.Errorf("%s: got %s, want no secret", name, text)
			}
		}
	}

	long := `{"id":9,"method":"tools/call","params":{"text":"` + strings.Repeat("x", 5000) + `"}}`
	got = recordIn(t, filepath.Join(t.TempDir(), "whole"), handshaken, func(d *traffic.Directory) {
		for _, b := range begin {
			d.Record(b.upstream, b.m)
		}
		for range 2 {
			d.Record("git", sent(2, long)) // the second one goes on in another file
		}
	})
	if want := []string{"initialize", "notifications/message", "initialize", "tools/call"}; !slices.Equal(methods(got["git-c2"]), want) {
		t.Errorf("got %q, want the handshake once: %q", methods(got["git-c2"]), want)
	}
	if want := []string{"initialize", "initialize", "tools/call"}; !slices.Equal(methods(got["git-c2.2"]), want) {
		t.Errorf("got %q in the second file, want %q", methods(got["git-c2.2"]), want)
	}
}

// Clients that open sessions as fast as they can push out their own handshakes alone.
func TestHandshakesAreSharedByOwners(t *testing.T) {
	handshakes := traffic.NewHandshakes()
	begin := func(address, session string, conn uint64) {
		handshakes.Record("", from(address, httpRequest(conn, "", `{"id":0,"method":"initialize"}`)))
		handshakes.Record("", from(address, httpResponse(conn, 200, session, `{"id":0,"result":{}}`)))
	}
	begin("203.0.113.1", "victim00", 1)
	for n := range uint64(2000) {
		handshakes.Record("", from("203.0.113.9", httpRequest(10000+n, "", `{"id":0,"method":"initialize"}`))) // without a response
		begin("203.0.113.9", fmt.Sprintf("%08d", n), 10+n)
	}
	begin("203.0.113.1", "victim01", 2)
	got := recordIn(t, filepath.Join(t.TempDir(), "recordings"), &traffic.DirectoryOptions{Handshakes: handshakes}, func(d *traffic.Directory) {
		for n, session := range []string{"victim00", "victim01", "00000000", "00001999"} {
			d.Record("", from("203.0.113.1", httpRequest(uint64(20000+n), session, `{"id":1,"method":"ping"}`)))
			d.Record("", from("203.0.113.1", httpResponse(uint64(20000+n), 200, "", `{"id":1,"result":{}}`)))
		}
	})
	for session, want := range map[string]int{"victim00": 4, "victim01": 4, "00000000": 2, "00001999": 4} {
		if n := len(methods(got["clients-"+session])); n != want {
			t.Errorf("%s: got %d messages, want %d", session, n, want)
		}
	}
}
