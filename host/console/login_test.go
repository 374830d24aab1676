package console_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host/console"
)

func TestFrontPageShowsNothingOfTheHostButHowToUseIt(t *testing.T) {
	t.Parallel()
	c := newConsole(t, &source{servers: twoServers()})
	for _, path := range []string{"/", "/console/"} {
		response, body := serve(c, request(http.MethodGet, path, nil))
		if response.StatusCode != 200 || strings.Contains(body, "weather") || len(response.Cookies()) > 0 {
			t.Errorf("%s: got %d, %s, want nothing about servers", path, response.StatusCode, body)
		}
		for _, want := range []string{
			"<code>fondaco open</code>", "claude mcp add --transport http fondaco " + base + "/mcp", "[mcp_servers.fondaco]", "&#34;mcpServers&#34;", "gemini mcp add", base + "/sse",
		} {
			if !strings.Contains(body, want) && !strings.Contains(body, strings.ReplaceAll(want, "&#34;", `"`)) {
				t.Errorf("%s: got %s, want %s", path, body, want)
			}
		}
	}
}

func TestFirstPageAfterALinkCanLeave(t *testing.T) {
	t.Parallel()
	c := newConsole(t, &source{})
	response, body := serve(c, request(http.MethodGet, strings.TrimPrefix(c.Link(), base), nil))
	b := &browser{t: t, console: c, path: response.Cookies()[0].Path, cookie: response.Cookies()[0]}
	token := regexp.MustCompile(`name="token" value="([^"]+)"`).FindStringSubmatch(b.get(""))[1]
	if !strings.Contains(body, `name="token" value="`+token+`"`) {
		t.Errorf("got %s, want the token of the session in its form", body)
	}
}

func TestLinkWorksOnceWithinTenMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConsole(t, &source{})
		open := func(link string, change func(*http.Request)) int {
			r := request(http.MethodGet, strings.TrimPrefix(link, base), nil)
			change(r)
			response, _ := serve(c, r)
			return response.StatusCode
		}
		same := func(*http.Request) {}
		link := c.Link()
		if got := open(link, func(r *http.Request) { r.Header.Set("Sec-Purpose", "prefetch;prerender") }); got != 403 {
			t.Errorf("prefetched: got %d, want 403", got)
		}
		if got := open(link, func(r *http.Request) { r.Method = http.MethodHead }); got != 403 {
			t.Errorf("HEAD: got %d, want 403", got)
		}
		if got := open(link[:len(link)-1], same); got != 403 {
			t.Errorf("a part of a link: got %d, want 403", got)
		}
		if got := open(link, same); got != 200 {
			t.Errorf("a new link: got %d, want 200", got)
		}
		if got := open(link, same); got != 403 {
			t.Errorf("again: got %d, want 403", got)
		}
		link = c.Link()
		if key := strings.TrimPrefix(link, base+"/console/login?key="); len(key) < 26 { // 5 bits each
			t.Errorf("got the key %q, want 128 bits", key)
		}
		time.Sleep(console.LinkTime)
		if got := open(link, same); got != 403 {
			t.Errorf("after %v: got %d, want 403", console.LinkTime, got)
		}
		first := c.Link()
		for range console.MaxLinks {
			link = c.Link()
		}
		if got := open(first, same); got != 403 {
			t.Errorf("after further links: got %d, want 403", got)
		}
		if got := open(link, same); got != 200 {
			t.Errorf("the newest link: got %d, want 200", got)
		}
	})
}

func TestCookieIsForThePagesOfItsSessionAlone(t *testing.T) {
	t.Parallel()
	c := newConsole(t, &source{servers: twoServers()})
	b := enter(t, c)
	if k := b.cookie; !k.HttpOnly || k.SameSite != http.SameSiteStrictMode || len(b.path) < len("/console/s//")+26 || !strings.HasPrefix(k.Path, "/console/s/") || k.Domain != "" {
		t.Errorf("got %+v, want a cookie that no other program of the machine gets", b.cookie)
	}
	other := enter(t, c)
	other.path = b.path
	if response, body := other.do(request(http.MethodGet, b.path, nil)); response.StatusCode != 401 || strings.Contains(body, "weather") {
		t.Errorf("cookie of another session: got %d, want 401", response.StatusCode)
	}
	// A server at another port can set a cookie of the same name.
	r := request(http.MethodGet, b.path, nil)
	r.AddCookie(&http.Cookie{Name: b.cookie.Name, Value: "tossed"})
	if response, _ := b.do(r); response.StatusCode != 200 {
		t.Errorf("with a second cookie: got %d, want 200", response.StatusCode)
	}
}

func TestSessionEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(c *console.Console, b *browser){
		"after twelve hours": func(*console.Console, *browser) { time.Sleep(console.SessionTime) },
		"when its user leaves": func(_ *console.Console, b *browser) {
			if response, body := b.post("logout"); response.StatusCode != 200 || !strings.Contains(body, "You have left") {
				b.t.Errorf("got %d, %s", response.StatusCode, body)
			}
		},
		"when there are more": func(c *console.Console, b *browser) {
			for range console.MaxSessions {
				time.Sleep(time.Second)
				enter(b.t, c)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newConsole(t, &source{servers: twoServers()})
				b := enter(t, c)
				live := b.listen(t.Context(), "")
				<-live.events
				end(c, b)
				response, body := b.do(request(http.MethodGet, b.path, nil))
				if response.StatusCode != 401 || strings.Contains(body, "weather") || !strings.Contains(body, "fondaco open") {
					t.Errorf("got %d, %s, want 401 and how to enter", response.StatusCode, body)
				}
				for range live.events { // until the stream ends
				}
			})
		})
	}
}

// Each attack is a request that would show or change something if it were let through.
func TestAttacksFromOtherPagesAndProgramsAreRefused(t *testing.T) {
	t.Parallel()
	s := &source{servers: twoServers()}
	c := newConsole(t, s)
	b := enter(t, c)
	other := enter(t, c)
	form := url.Values{"token": {b.token}}
	for name, attack := range map[string]struct {
		method string
		form   url.Values
		change func(*http.Request)
		want   int
	}{
		"a name that resolves to this machine": {"GET", nil, func(r *http.Request) { r.Host = "evil.example" }, 403},
		"a name that begins with ours":         {"GET", nil, func(r *http.Request) { r.Host = "localhost.evil.example" }, 403},
		"no name":                              {"GET", nil, func(r *http.Request) { r.Host = "" }, 403},
		"read by another origin":               {"GET", nil, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, 403},
		"read by another port":                 {"GET", nil, func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:8000") }, 403},
		"read by an origin without a name":     {"GET", nil, func(r *http.Request) { r.Header.Set("Origin", "null") }, 403},
		"loaded by a page of another site":     {"GET", nil, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		"loaded by a page of another port":     {"GET", nil, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") }, 403},
		"in a frame": {"GET", nil, func(r *http.Request) {
			set(r, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe")
		}, 403},
		"without the cookie":                  {"GET", nil, func(r *http.Request) { r.Header.Del("Cookie") }, 401},
		"with an invented cookie":             {"GET", nil, func(r *http.Request) { r.Header.Set("Cookie", b.cookie.Name+"=AAAAAAAAAAAAAAAAAAAAAAAAAA") }, 401},
		"an action without the cookie":        {"POST", form, func(r *http.Request) { r.Header.Del("Cookie") }, 401},
		"an action without a token":           {"POST", nil, func(*http.Request) {}, 403},
		"an action with an invented token":    {"POST", url.Values{"token": {"AAAAAAAAAAAAAAAAAAAAAAAAAA"}}, func(*http.Request) {}, 403},
		"an action with the token of another": {"POST", url.Values{"token": {other.token}}, func(*http.Request) {}, 403},
		"an action by another origin":         {"POST", form, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, 403},
		"an action by another port":           {"POST", form, func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:8000") }, 403},
		"an action without an origin":         {"POST", form, func(r *http.Request) { r.Header.Del("Origin") }, 403},
		"an action by a form of another site": {"POST", form, func(r *http.Request) {
			set(r, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")
		}, 403},
		"an action by GET":                      {"GET", form, func(r *http.Request) { r.URL.RawQuery = form.Encode() }, 405},
		"an action with the token in the query": {"POST", nil, func(r *http.Request) { r.URL.RawQuery = form.Encode() }, 403},
		"an action with JSON":                   {"POST", form, func(r *http.Request) { r.Header.Set("Content-Type", "application/json") }, 403},
	} {
		path := b.path
		if attack.method == http.MethodPost || name == "an action by GET" {
			path += "servers/files/restart"
		}
		r := request(attack.method, path, attack.form)
		r.AddCookie(b.cookie)
		attack.change(r)
		response, body := serve(c, r)
		if response.StatusCode != attack.want || strings.Contains(body, "weather") || len(s.restarted) > 0 {
			t.Errorf("%s: got %d, restarted %q, %s, want %d", name, response.StatusCode, s.restarted, body, attack.want)
			s.restarted = nil
		}
		if response.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: got %v, want no other page to read it", name, response.Header)
		}
	}
	for _, name := range []string{"localhost:7332", "LOCALHOST", "[::1]:7332", "127.0.0.1:7332", "fondaco.internal:443"} {
		r := request(http.MethodGet, b.path, nil)
		r.Host = name
		if response, _ := b.do(r); response.StatusCode != 200 {
			t.Errorf("%s: got %d, want 200", name, response.StatusCode)
		}
	}
	if response, _ := b.post("servers/files/restart"); response.StatusCode != 303 || len(s.restarted) != 1 || s.restarted[0] != "files" {
		t.Errorf("the user: got %d, restarted %q, want it done", response.StatusCode, s.restarted)
	}
}

func set(r *http.Request, header ...string) {
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
}

func TestLongFormIsRefused(t *testing.T) {
	t.Parallel()
	s := &source{servers: twoServers()}
	b := enter(t, newConsole(t, s))
	if response, _ := b.post("servers/files/restart", "x", strings.Repeat("x", console.MaxForm)); response.StatusCode != 403 || len(s.restarted) > 0 {
		t.Errorf("got %d, restarted %q, want it refused", response.StatusCode, s.restarted)
	}
}
