package cli

import (
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// privateText removes from texts what says who the user is, and secrets.
type privateText struct {
	secrets *knownSecrets
	homes   []string       // the paths of the home directory, the longest first
	names   *regexp.Regexp // of the user and the machine; nil if there are none
}

// shortestName is the length below which the name of a user or machine is treated as an ordinary word, and
// ordinaryNames are those of many.
const shortestName = 3

var ordinaryNames = []string{"root", "user", "admin", "localhost", "nobody"}

func newPrivateText(m *Main) *privateText {
	p := &privateText{secrets: &m.secrets}
	var names []string
	if home, ok := m.Getenv("HOME"); ok {
		p.homes = append(p.homes, home)
	}
	if u, err := user.Current(); err == nil {
		p.homes = append(p.homes, u.HomeDir)
		names = append(names, u.Username, u.Name)
	}
	for _, variable := range []string{"USER", "LOGNAME", "USERNAME", "COMPUTERNAME"} {
		name, _ := m.Getenv(variable)
		names = append(names, name)
	}
	if machine, err := os.Hostname(); err == nil {
		names = append(names, machine)
	}
	for _, home := range slices.Clone(p.homes) {
		if real, err := filepath.EvalSymlinks(home); err == nil {
			p.homes = append(p.homes, real)
		}
	}
	p.homes = slices.DeleteFunc(p.homes, func(home string) bool { return len(home) < len("/x") })
	slices.SortFunc(p.homes, func(a, b string) int { return len(b) - len(a) })
	names = slices.DeleteFunc(names, func(name string) bool {
		return len(name) < shortestName || slices.Contains(ordinaryNames, strings.ToLower(name))
	})
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) })
	for i, name := range names {
		names[i] = regexp.QuoteMeta(name)
	}
	if len(names) > 0 {
		p.names = regexp.MustCompile(`(?i)(^|[^a-z0-9])(` + strings.Join(names, "|") + `)($|[^a-z0-9])`)
	}
	return p
}

// otherHome matches the home directories of any user.
var otherHome = regexp.MustCompile(`(?i)((?:/home|/Users|[a-z]:(?:\\|/)Users)(?:\\|/))[^/\\\s"':;,]+`)

// of returns a text without them. Secrets go first: one with a name in it is no longer known without the name.
func (p *privateText) of(text string) string {
	text = p.secrets.redactAll(text)
	for _, home := range p.homes {
		text = strings.ReplaceAll(text, home, "~")
	}
	text = otherHome.ReplaceAllString(text, "${1}[user]")
	if p.names != nil {
		for range 2 { // two names in a row share the character between them
			text = p.names.ReplaceAllString(text, "${1}[name]${3}")
		}
	}
	return text
}
