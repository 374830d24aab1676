package cli

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/audit"
	"github.com/fondaco/fondaco/host/definition"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// knownSecrets are the secrets that no log may contain. The zero value has none.
type knownSecrets struct {
	mu         sync.Mutex
	configured []string            // guarded by mu: as the configuration has them
	resolved   map[string][]string // guarded by mu: by upstream, of its references
	// withoutSecrets and withoutKnown are audit.TextRedactor and audit.KnownRedactor of all. Guarded by mu:
	// nil until there are any.
	withoutSecrets, withoutKnown func(string) string
}

// configure replaces the secrets of the configuration, and returns all.
func (k *knownSecrets) configure(upstreams []host.Upstream) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.configured = nil
	for i := range upstreams {
		k.configured = append(k.configured, secretsOf(&upstreams[i])...)
	}
	maps.DeleteFunc(k.resolved, func(key string, _ []string) bool {
		return !slices.ContainsFunc(upstreams, func(u host.Upstream) bool { return u.Key == key })
	})
	return k.changedLocked()
}

// resolve replaces the secrets of an upstream whose references were expanded, and returns all.
func (k *knownSecrets) resolve(u *host.Upstream) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.resolved == nil {
		k.resolved = make(map[string][]string)
	}
	k.resolved[u.Key] = secretsOf(u)
	return k.changedLocked()
}

func (k *knownSecrets) changedLocked() []string {
	all := k.allLocked()
	k.withoutSecrets, k.withoutKnown = audit.TextRedactor(all), audit.KnownRedactor(all)
	return all
}

// all returns all secrets.
func (k *knownSecrets) all() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.allLocked()
}

func (k *knownSecrets) allLocked() []string {
	all := slices.Clone(k.configured)
	for _, secrets := range k.resolved {
		all = append(all, secrets...)
	}
	return all
}

// redactAll returns a line of a log without these secrets, without what looks like one, and without all of
// a URL but its origin.
func (k *knownSecrets) redactAll(line string) string {
	k.mu.Lock()
	redact := k.withoutSecrets
	k.mu.Unlock()
	if redact == nil {
		redact = audit.TextRedactor(nil)
	}
	return redact(line)
}

// redactKnown returns a line without these secrets alone: who has written it has left out what looks like
// one.
func (k *knownSecrets) redactKnown(line string) string {
	k.mu.Lock()
	redact := k.withoutKnown
	k.mu.Unlock()
	if redact == nil {
		return line
	}
	return redact(line)
}

// secretsOf returns the secrets of an upstream: values of headers and variables, of
// arguments with the name of a secret, and the path of a URL with references.
func secretsOf(u *host.Upstream) (secrets []string) {
	for _, values := range u.Header {
		secrets = append(secrets, values...)
	}
	if secret := u.SignIn.ClientSecret; secret != "" {
		secrets = append(secrets, secret.Reveal())
	}
	t, ok := u.Target.(*mcpclient.CommandTarget)
	if !ok {
		return append(secrets, u.PrivatePath()...)
	}
	for _, value := range t.Env {
		secrets = append(secrets, value)
	}
	_, values := host.SecretArguments(t.Args)
	return append(secrets, values...)
}

// warnOfLockedArguments says which arguments in a lock file, which a team commits, look like secrets.
// References are there as they are written, without their values.
func (m *Main) warnOfLockedArguments(u *host.Upstream) {
	if u.Source == nil {
		return
	}
	var args []string
	for _, arg := range u.Source.Args {
		if !arg.Literal() {
			arg.Written = ""
		}
		args = append(args, arg.Written)
	}
	if flags, _ := host.SecretArguments(args); len(flags) > 0 {
		m.Message("  visible    the value of %s of %s, to everybody who reads %s; \"env\" is the place for secrets",
			terminal.CleanLine(strings.Join(flags, ", ")), u.Key, definition.LockFile)
	}
}

// logWriter writes lines of the log to standard error, without secrets and with what is not
// shown made visible.
type logWriter struct{ main *Main }

func (w logWriter) Write(line []byte) (int, error) {
	w.main.PeerMessage("%s", strings.TrimSuffix(w.main.secrets.redactAll(string(line)), "\n"))
	return len(line), nil
}
