package definition

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// LockedServer is a server in a lock file. Nothing in it depends on the machine: the directories of
// the project and of the user are references, and values of variables are not replaced.
type LockedServer struct {
	// Command is the command with its arguments, as the configuration has them, and URL the
	// address of a remote server. References are not replaced.
	Command []string `json:"command,omitempty"`
	URL     string   `json:"url,omitzero"`
	// Dir is the working directory, relative to the project unless it is elsewhere. It is empty
	// for the directory of the project.
	Dir string `json:"dir,omitzero"`
	// Env are the variables, Headers the headers, and SignIn the texts for the authorization
	// server: a text that only refers to others is as the configuration has it, and one with
	// other content has a digest. What EnvFile has is not among the variables.
	Env     map[string]string `json:"env,omitempty"`
	EnvFile string            `json:"envFile,omitzero"`
	Headers map[string]string `json:"headers,omitempty"`
	SignIn  map[string]string `json:"auth,omitempty"`
	// Packages are the packages with versions in the arguments of programs that install
	// them, such as npx and uvx.
	Packages []string `json:"packages,omitempty"`
	// Files are the digests of files of the project that run, by their path in the project. Nil
	// means that they are not known, and are not compared.
	Files map[string]string `json:"files,omitempty"`
	// Version is that which the server says of itself. It is not compared.
	Version string `json:"version,omitzero"`
	// Definitions are the digests of what the server lists, by kind and name.
	Definitions map[string][]string `json:"definitions"`
}

// lockedServer returns how an upstream is started or reached, as a lock file has it.
func lockedServer(u *host.Upstream) (l LockedServer) {
	target, isProgram := u.Target.(*mcpclient.CommandTarget)
	switch {
	case isProgram:
		l = lockedProgram(u, target)
	case u.Source != nil:
		l.URL = portable(u, u.Source.URL.Written)
		l.Headers, l.SignIn = lockedTexts(u, u.Source.Headers), lockedTexts(u, u.Source.SignIn)
	default:
		l.URL = u.Target.String()
	}
	return l
}

func lockedProgram(u *host.Upstream, target *mcpclient.CommandTarget) LockedServer {
	words, env := append([]string{target.Path}, target.Args...), make(map[string]host.Text)
	for name, value := range target.Env {
		env[name] = host.Text{Written: value}
	}
	l := LockedServer{Dir: relative(u, target.Dir), Files: lockedFiles(u)}
	if s := u.Source; s != nil {
		words, env = []string{s.Command.Written}, make(map[string]host.Text)
		for _, arg := range s.Args {
			words = append(words, arg.Written)
		}
		for name, text := range s.Env {
			if !slices.Contains(s.EnvFileNames, name) {
				env[name] = text
			}
		}
		l.EnvFile = relative(u, s.EnvFile)
	}
	for _, word := range words {
		l.Command = append(l.Command, portable(u, word))
	}
	l.Env, l.Packages = lockedTexts(u, env), lockedPackages(l.Command)
	return l
}

// lockedPackages returns the packages with versions in a command.
func lockedPackages(command []string) (packages []string) {
	if runsImages(programName(command[0])) { // any argument with a colon looks like an image
		return nil
	}
	args := command[1:]
	for i, name := range withoutVersions(command[0], args) {
		if name != args[i] {
			packages = append(packages, args[i])
		}
	}
	return packages
}

// plainReferences matches a text of references alone, without defaults. The scheme of a header in
// front of one is no secret.
var plainReferences = regexp.MustCompile(`^(?:Bearer |Basic |token )?(?:\$\{(?:env|input|file):[^}]*\})+$`)

// lockedTexts returns texts by name: those that only refer to others, and digests of the rest. A
// digest has the name in it, so that equal values do not show.
func lockedTexts(u *host.Upstream, texts map[string]host.Text) map[string]string {
	all := make(map[string]string)
	for name, text := range texts {
		written := portable(u, text.Written)
		hasDefault := slices.ContainsFunc(text.References, func(r host.Reference) bool { return r.Default != "" })
		if text.Literal() || hasDefault || !plainReferences.MatchString(written) {
			written = digestMark + digestOf([]byte(name+"\x00"+written))
		}
		all[name] = written
	}
	return all
}

// digestMark begins digests among texts.
const digestMark = "sha256:"

// portable replaces the directories of the project and of the user, which are others on other
// machines.
func portable(u *host.Upstream, text string) string {
	text = strings.ReplaceAll(text, u.Origin.Project, "${workspaceFolder}")
	if home, err := os.UserHomeDir(); err == nil && filepath.Dir(home) != home {
		text = strings.ReplaceAll(text, home+string(filepath.Separator), "${userHome}"+string(filepath.Separator))
	}
	return text
}

// relative returns a path relative to the project, with slashes, or as it is if it leads elsewhere. It
// is empty for the project itself.
func relative(u *host.Upstream, path string) string {
	if path == "" {
		return ""
	}
	rel, err := filepath.Rel(u.Origin.Project, path)
	switch {
	case err != nil || !filepath.IsLocal(rel):
		return portable(u, path)
	case rel == ".":
		return ""
	}
	return filepath.ToSlash(rel)
}

// differences says how the way to start or reach a server differs from the locked one.
func (l *LockedServer) differences(now LockedServer) (texts []string) {
	note := func(what, now, locked string) {
		if now != locked {
			texts = append(texts, fmt.Sprintf("the %s is %q, locked is %q", what, now, locked))
		}
	}
	note("URL", now.URL, l.URL)
	if !slices.Equal(l.Packages, now.Packages) {
		texts = append(texts, fmt.Sprintf("the packages are %q, locked are %q", now.Packages, l.Packages))
	} else if !slices.Equal(l.Command, now.Command) {
		texts = append(texts, fmt.Sprintf("the command is %q, locked is %q", now.Command, l.Command))
	}
	note("working directory", now.Dir, l.Dir)
	note("environment file", now.EnvFile, l.EnvFile)
	texts = append(texts, differingTexts("variable", l.Env, now.Env)...)
	texts = append(texts, differingTexts("header", l.Headers, now.Headers)...)
	texts = append(texts, differingTexts(`member of "auth"`, l.SignIn, now.SignIn)...)
	if now.Files != nil {
		texts = append(texts, differingTexts("file", l.Files, now.Files)...)
	}
	return texts
}

// differingTexts says how texts by name differ from the locked ones.
func differingTexts(what string, locked, now map[string]string) (texts []string) {
	for _, name := range sortedKeys(locked, now) {
		before, had := locked[name]
		after, has := now[name]
		change := "has changed"
		switch {
		case before == after && had == has:
			continue
		case !had:
			change = "is not locked"
		case !has:
			change = "is locked, and not there"
		}
		texts = append(texts, fmt.Sprintf("the %s %q %s", what, name, change))
	}
	return texts
}
