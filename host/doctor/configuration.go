package doctor

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
)

// checkConfiguration reports what is wrong with the server in its file, and variables and files that
// the file refers to and that are not there. Their values are not read.
func checkConfiguration(_ context.Context, e *examination) {
	if !e.configured() && len(e.opts.Problems) == 0 {
		e.skip("the server is in no configuration")
		return
	}
	before := len(e.report.Results)
	check := e.opts.command("config", "check")
	for _, p := range e.opts.Problems {
		switch missing := variableNotSet.FindStringSubmatch(p.Text); {
		case p.Fatal && missing != nil:
			e.fail(ConfigurationMissing, exportCommand(missing[1]), "%s", p.Text)
		case p.Fatal:
			e.fail(ConfigurationBroken, check, "%s", p.Text)
		default:
			e.warn(ConfigurationNote, check, "%s", p.Text)
		}
	}
	e.checkReferences()
	if len(e.report.Results) == before {
		e.pass("%s", e.upstream.Origin.File)
	}
}

// variableNotSet finds the variable in what host/config says about a reference.
var variableNotSet = regexp.MustCompile(`the variable ([A-Za-z_][A-Za-z0-9_]*) is not set`)

func exportCommand(name string) string { return "export " + host.ShellQuote(name) + "=VALUE" }

// checkReferences reports references that have no value.
func (e *examination) checkReferences() {
	for _, ref := range references(e.upstream.Source) {
		switch ref.Kind {
		case host.VariableReference:
			if _, ok := e.opts.env(ref.Name); !ok && ref.Default == "" {
				e.fail(ConfigurationMissing, exportCommand(ref.Name), "the configuration refers to the environment variable %s, which is not set", ref.Name)
			}
		case host.FileReference:
			if err := e.checkLocal(ref.Name); err != nil {
				e.fail(ConfigurationFile, e.opts.command("config", "check"), "the configuration refers to a file that is not read: %v", err)
				continue
			}
			if info, err := os.Stat(ref.Name); err == nil && !info.Mode().IsRegular() {
				continue // nobody may ever write to a pipe
			}
			if f, err := os.Open(ref.Name); err != nil {
				e.fail(ConfigurationFile, e.opts.command("config", "check"), "the configuration refers to a file that cannot be read: %v", err)
			} else {
				_ = f.Close()
			}
		}
	}
}

// references returns the references of a server, each once. In a command and its arguments, variables that
// the server's own environment sets are left out, because they have a value there.
func references(s *host.Source) (all []host.Reference) {
	if s == nil {
		return nil
	}
	add := func(ownEnv bool, texts ...host.Text) {
		for _, text := range texts {
			for _, ref := range text.References {
				_, own := s.Env[ref.Name]
				own = own || slices.Contains(s.EnvFileNames, ref.Name)
				if ownEnv && own && ref.Kind == host.VariableReference || slices.ContainsFunc(all, func(r host.Reference) bool { return r.Kind == ref.Kind && r.Name == ref.Name }) {
					continue
				}
				all = append(all, ref)
			}
		}
	}
	add(true, s.Command)
	add(true, s.Args...)
	add(false, s.URL)
	for _, texts := range []map[string]host.Text{s.Env, s.Headers, s.SignIn} {
		for _, text := range texts {
			add(false, text)
		}
	}
	slices.SortFunc(all, func(a, b host.Reference) int { return strings.Compare(a.Name, b.Name) })
	return all
}
