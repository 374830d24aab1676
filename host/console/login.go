package console

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	// LinkTime is how long a link can be used.
	LinkTime = 10 * time.Minute
	// SessionTime is how long a session lasts.
	SessionTime = 12 * time.Hour

	// maxLinks limits the links that were not used. A further one replaces the oldest.
	maxLinks = 16
	// maxSessions limits the sessions. A further one ends the oldest.
	maxSessions = 16
)

// cookieName is the name of the cookie with the secret of a session.
const cookieName = "fondaco-console"

// link is a link to the console that was not used.
type link struct {
	digest  [sha256.Size]byte // of the key
	expires time.Time
}

// session is one browser that has entered.
type session struct {
	// ID is in the path of its pages, and says to which of them the cookie is sent.
	ID string
	// Token is in each form.
	Token string

	secret    [sha256.Size]byte // digest of the cookie
	created   time.Time
	ended     chan struct{} // closed when it ends
	watches   []*watch      // guarded by Console.mu: the oldest first
	lastWatch int           // guarded by Console.mu: the ID of the last one
	files     []file        // guarded by Console.mu: of its last result
}

// Link returns a URL that opens the console in one browser, once, within LinkTime. Who has it has
// the rights of the console, so it belongs in no log.
func (c *Console) Link() string {
	key := rand.Text()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.links = slices.DeleteFunc(c.links, link.hasExpired)
	if len(c.links) == maxLinks {
		c.links = slices.Delete(c.links, 0, 1)
	}
	c.links = append(c.links, link{sha256.Sum256([]byte(key)), time.Now().Add(LinkTime)})
	return c.base + "/console/login?key=" + url.QueryEscape(key)
}

func (l link) hasExpired() bool { return !time.Now().Before(l.expires) }

// takeLink reports whether a key is that of a link, which ends then.
func (c *Console) takeLink(key string) bool {
	digest := sha256.Sum256([]byte(key))
	c.mu.Lock()
	defer c.mu.Unlock()
	found := -1
	for i, l := range c.links {
		if subtle.ConstantTimeCompare(l.digest[:], digest[:]) == 1 && !l.hasExpired() {
			found = i
		}
	}
	if found < 0 {
		return false
	}
	c.links = slices.Delete(c.links, found, found+1)
	return true
}

// login enters the console. The cookie is only sent by pages of the console, so the response is a
// page that leads to the first one, and no redirect: the link may have been on a page of another
// origin, such as a terminal in a browser.
func (c *Console) login(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method != http.MethodGet, strings.Contains(r.Header.Get("Sec-Purpose"), "prefetch"):
		http.Error(w, "a link to the console works once: want a request of the user", http.StatusForbidden)
		return
	case !c.takeLink(r.URL.Query().Get("key")):
		c.refuse(w, http.StatusForbidden, "This link has ended", "A link to the console works once, within 10 minutes.")
		return
	}
	s, secret := c.newSession()
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: secret, Path: s.path(), MaxAge: int(SessionTime / time.Second),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: strings.HasPrefix(c.base, "https:"),
	})
	render(w, http.StatusOK, "entered", &view{Title: "Welcome", Path: s.path(), Token: s.Token, HasChecks: c.checks.run != nil})
}

// newSession returns a session and the value of its cookie.
func (c *Console) newSession() (*session, string) {
	secret := rand.Text()
	s := &session{ID: rand.Text(), Token: rand.Text(), secret: sha256.Sum256([]byte(secret)), created: time.Now(), ended: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	var oldest *session
	for _, other := range c.sessions {
		if time.Since(other.created) >= SessionTime {
			c.endLocked(other)
			continue
		}
		if oldest == nil || other.created.Before(oldest.created) {
			oldest = other
		}
	}
	if len(c.sessions) >= maxSessions {
		c.endLocked(oldest)
	}
	c.sessions[s.ID] = s
	return s, secret
}

// endLocked ends a session. The caller holds mu.
func (c *Console) endLocked(s *session) {
	if c.sessions[s.ID] == s {
		delete(c.sessions, s.ID)
		close(s.ended)
	}
}

// sessionOf returns the session of a request, or nil.
func (c *Console) sessionOf(r *http.Request) *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[r.PathValue("session")]
	if s == nil {
		return nil
	}
	if time.Since(s.created) >= SessionTime {
		c.endLocked(s)
		return nil
	}
	// A program at another port may have added a cookie of the same name.
	for _, cookie := range r.CookiesNamed(cookieName) {
		digest := sha256.Sum256([]byte(cookie.Value))
		if subtle.ConstantTimeCompare(digest[:], s.secret[:]) == 1 {
			return s
		}
	}
	return nil
}

// path is the prefix of the paths of its pages.
func (s *session) path() string { return "/console/s/" + s.ID + "/" }

const (
	// maxForm limits the body of a form, in bytes.
	maxForm = 1 << 20
	// maxFileForm limits that of a form with files.
	maxFileForm = 8 << 20
)

// hasToken reports whether a form has the token of the session. What it has sent is in PostForm then, files included.
func (s *session) hasToken(r *http.Request) bool {
	return readForm(r) == nil && subtle.ConstantTimeCompare([]byte(r.PostForm.Get("token")), []byte(s.Token)) == 1
}

// logout ends the session.
func (c *Console) logout(w http.ResponseWriter, _ *http.Request, s *session) {
	c.mu.Lock()
	c.endLocked(s)
	c.mu.Unlock()
	http.SetCookie(w, &http.Cookie{Name: cookieName, Path: s.path(), MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	c.refuse(w, http.StatusOK, "You have left the console", "This browser has no access any more.")
}
