package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/userfile"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// ErrDenied is wrapped by the error of Check.
var ErrDenied = errors.New("denied by the managed policy")

// Verdict says what the policy makes of a server.
type Verdict struct {
	Allowed bool `json:"allowed"`
	// Reason says why, with the entry that decides.
	Reason string `json:"reason"`
	// Undecided says that the server has references to variables, inputs or files, so that
	// only its start decides.
	Undecided bool `json:"undecided,omitzero"`
}

// Check returns an error that wraps ErrDenied if a server may not run. It is called for
// every server that is configured, and again for the one whose references are replaced by
// their values before it is started.
func (p *Policy) Check(u *host.Upstream) error {
	v := p.Explain(u)
	if v.Allowed || v.Undecided {
		return nil
	}
	if u.Key == "" { // the command line names it
		return fmt.Errorf("%w, %s: %s", ErrDenied, p.Path, v.Reason)
	}
	return fmt.Errorf("server %q: %w, %s: %s", u.Key, ErrDenied, p.Path, v.Reason)
}

// Explain says whether a server may run, and why.
func (p *Policy) Explain(u *host.Upstream) Verdict {
	if p == nil {
		return Verdict{Allowed: true, Reason: "there is no managed policy"}
	}
	s := newSubject(u)
	if s.err != nil {
		return Verdict{Reason: s.err.Error()}
	}
	undecided := false
	for i := range p.deny {
		switch e := &p.deny[i]; {
		case e.denies(s):
			return Verdict{Reason: e.where + " denies it"}
		case s.references && !e.decidable():
			undecided = true
		}
	}
	if !p.restricted {
		return Verdict{Allowed: !undecided, Undecided: undecided, Reason: "no entry denies it"}
	}
	for i := range p.allow {
		switch e := &p.allow[i]; {
		case e.unreadable:
		case s.references && !e.decidable():
			undecided = undecided || e.name == "" || host.MatchPattern(e.name, s.name)
		case e.allows(s):
			return Verdict{Allowed: !undecided, Undecided: undecided, Reason: e.where + " allows it"}
		}
	}
	return Verdict{Undecided: undecided, Reason: "no entry of servers.allow allows it"}
}

// subject is what the entries are compared with.
type subject struct {
	name       string
	url        *urlPattern
	socket     string   // the path of a Unix domain socket
	program    string   // the absolute path without symbolic links; empty if it is not found or ambiguous
	programs   []string // all that the program may be
	written    string   // the program as it is configured
	args       []string
	env        []string
	dir        string
	references bool
	err        error // why it cannot be compared, which denies it
	project    string
	digests    map[string]string // by path
}

func newSubject(u *host.Upstream) *subject {
	s := &subject{name: u.Key, references: hasReferences(u), project: u.Origin.Project, digests: make(map[string]string)}
	switch t := u.Target.(type) {
	case *mcpclient.CommandTarget:
		s.written, s.args, s.dir = t.Path, t.Args, t.Dir
		s.env = slices.Sorted(maps.Keys(t.Env))
		s.findFiles(t, u.Files)
	case nil:
		s.err = errors.New("it has no target")
	default:
		text := fmt.Sprint(t)
		if path, ok := socketPath(text); ok {
			text = "unix://" + path
			s.setSocket(path)
		}
		if strings.Contains(text, "://") {
			s.setURL(text)
		}
	}
	return s
}

// findFiles finds the program, and what is known of the content of files. Files that were read
// for an approval are not read again, because only their content as it was then is started.
func (s *subject) findFiles(t *mcpclient.CommandTarget, admitted []host.ProgramFile) {
	s.findExecutable(t)
	if len(admitted) == 0 {
		return
	}
	if len(s.programs) < 2 {
		s.program = admitted[0].Path
	}
	s.programs = append(s.programs, admitted[0].Path)
	for _, f := range admitted {
		if f.SHA256 != "" {
			s.digests[f.Path] = "sha256:" + f.SHA256
		}
	}
}

// setSocket sets the path of a Unix domain socket. With ".." it can be another one than the text says.
func (s *subject) setSocket(path string) {
	if s.references {
		return
	}
	if s.socket = path; userfile.HasParent(path) {
		s.err = fmt.Errorf("its socket %q has \"..\"; want a path without it", path)
	}
}

func (s *subject) setURL(address string) {
	if s.references || s.err != nil {
		return
	}
	if s.url, s.err = parts(address); s.err != nil {
		s.err = fmt.Errorf("its URL %w", s.err)
	}
}

// hasReferences reports whether what decides about a server is not known yet.
func hasReferences(u *host.Upstream) bool {
	if u.Resolve == nil || u.Source == nil {
		return false
	}
	return !u.Source.URL.Literal() || !u.Source.Command.Literal() || slices.ContainsFunc(u.Source.Args, func(t host.Text) bool { return !t.Literal() })
}

// findExecutable sets program and programs. A path that the system and others read differently is
// that of no program that could be allowed.
func (s *subject) findExecutable(t *mcpclient.CommandTarget) {
	path := t.Path
	if filepath.Base(path) == path {
		if path = s.findProgram(path, t.Env); path == "" {
			return
		}
	}
	for _, reading := range s.paths(path) {
		if !s.mayLookAt(reading) {
			return
		}
	}
	s.programs = s.readings(path)
	if len(s.programs) == 1 && s.isThere(path) {
		s.program = s.programs[0]
	}
}

// mayLookAt reports whether a path is on this machine. Another machine that a project names is
// not looked at, and the server is denied.
func (s *subject) mayLookAt(path string) bool {
	err := userfile.CheckLocal(path, s.project)
	if err != nil {
		s.err = err
	}
	return err == nil
}

// findProgram looks a program up in PATH, or in the PATH that the server's configuration sets.
func (s *subject) findProgram(name string, env map[string]string) string {
	for variable, dirs := range env {
		if variable != "PATH" && !(runtime.GOOS == "windows" && strings.EqualFold(variable, "PATH")) {
			continue
		}
		for _, dir := range filepath.SplitList(dirs) {
			if !filepath.IsAbs(dir) || !s.mayLookAt(filepath.Join(dir, name)) {
				continue
			}
			if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return found
			}
		}
		return ""
	}
	found, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return found
}

// socketPath returns the path in the text of the target of a Unix domain socket.
func socketPath(target string) (string, bool) {
	quoted, ok := strings.CutPrefix(target, "unix socket ")
	if !ok {
		return "", false
	}
	path, err := strconv.Unquote(quoted)
	return path, err == nil
}

// decidable reports whether an entry depends on the name alone.
func (e *entry) decidable() bool {
	return e.url == nil && e.command == nil && e.digest == "" && e.dir == ""
}

// allows reports whether an entry allows a server: all its members match, and a program gets
// only variables that the entry names.
func (e *entry) allows(s *subject) bool {
	if e.unreadable || e.name != "" && !host.MatchPattern(e.name, s.name) || e.url != nil && (s.url == nil || !e.url.matches(s.url)) {
		return false
	}
	if e.dir != "" && (filepath.Clean(s.dir) != e.dir || userfile.HasParent(s.dir)) {
		return false
	}
	if e.command != nil && (s.program == "" || s.program != userfile.RealPath(e.command[0]) || !slices.Equal(e.command[1:], s.args)) {
		return false
	}
	if e.digest != "" && s.digest(s.program) != e.digest {
		return false
	}
	if (e.command != nil || e.digest != "") && slices.ContainsFunc(s.env, func(name string) bool {
		return !slices.ContainsFunc(e.env, func(pattern string) bool { return host.MatchPattern(pattern, name) })
	}) {
		return false
	}
	return true
}

// denies reports whether an entry denies a server. It goes further than allows: a program is
// denied by its name in any directory, with any arguments if the entry has none; a digest may
// be that of a file among the arguments.
func (e *entry) denies(s *subject) bool {
	if e.name == "" && e.decidable() {
		return false // nothing of it can be read
	}
	if e.name != "" && !host.MatchPattern(e.name, s.name) || e.url != nil && (s.url == nil || !e.url.matches(s.url) && !e.url.leadsTo(s.socket)) {
		return false
	}
	if e.command != nil && !(e.deniesProgram(s) && (len(e.command) == 1 || slices.Equal(e.command[1:], s.args))) {
		return false
	}
	return (e.dir == "" || e.deniesDir(s)) && (e.digest == "" || e.deniesDigest(s))
}

// deniesDir reports whether a program may run in the directory of the entry, also by a symbolic link.
// One without a directory of its own runs in that of this process.
func (e *entry) deniesDir(s *subject) bool {
	if s.written == "" {
		return false
	}
	dir, err := filepath.Abs(s.dir)
	if err != nil || dir == e.dir {
		return true
	}
	path := "."
	if filepath.IsAbs(s.dir) {
		path = s.dir
	}
	return slices.Contains(s.readings(path), userfile.RealPath(e.dir))
}

func (e *entry) deniesProgram(s *subject) bool {
	if s.written == "" {
		return false
	}
	if filepath.IsAbs(e.command[0]) {
		return s.written == e.command[0] || slices.Contains(s.programs, userfile.RealPath(e.command[0]))
	}
	return slices.ContainsFunc(append(s.programs, s.written), func(path string) bool { return filepath.Base(path) == e.command[0] })
}

func (e *entry) deniesDigest(s *subject) bool {
	if s.written == "" {
		return false
	}
	for _, digest := range s.digests {
		if digest == e.digest {
			return true
		}
	}
	files := slices.Clone(s.programs)
	for _, a := range s.args {
		files = append(files, s.readings(a)...) // the approval refuses what is elsewhere
	}
	return slices.ContainsFunc(files, func(f string) bool { return s.digest(f) == e.digest })
}

// digest returns the digest of a file, empty if it cannot be read.
func (s *subject) digest(path string) string {
	if path == "" {
		return ""
	}
	if d, known := s.digests[path]; known {
		return d
	}
	s.digests[path] = ""
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	s.digests[path] = "sha256:" + hex.EncodeToString(h.Sum(nil))
	return s.digests[path]
}

// Restrict returns a server with settings that are as strict as the policy wants, and says
// what was changed.
func (p *Policy) Restrict(u host.Upstream) (host.Upstream, []string) {
	if p == nil {
		return u, nil
	}
	var changed []string
	if p.noDev && u.Settings.Dev {
		u.Settings.Dev = false
		changed = append(changed, `"dev" has no effect`)
	}
	if least := slices.Index(trusts, p.trust); p.trust != "" && slices.Index(trusts, u.Trust()) > least {
		changed = append(changed, fmt.Sprintf("trust is %q and not %q", p.trust, u.Trust()))
		u.Settings.Trust = p.trust
	}
	if p.trust == host.TrustAsk && u.Settings.Dynamic {
		u.Settings.Dynamic = false
		changed = append(changed, `"dynamic" has no effect`)
	}
	return u, changed
}
