package approval

import (
	"context"
	"maps"
	"os"
	"slices"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// proxyVariables have the URLs of proxies. A program gets them unless they have a user or password.
var proxyVariables = []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"}

// withheldProxies returns the variables of proxies of the host that a program does not get unless its
// approval names them.
func withheldProxies(u *host.Upstream) []string {
	program, ok := u.Target.(*mcpclient.CommandTarget)
	if !ok {
		return nil
	}
	return slices.DeleteFunc(program.WithheldVariables(), func(name string) bool {
		return !slices.Contains(proxyVariables, name)
	})
}

// passProxies adds the proxies to the environment of a program that its approval names.
func (s *Store) passProxies(ctx context.Context, u *host.Upstream, program *mcpclient.CommandTarget) error {
	a, err := s.read(ctx, u)
	if err != nil || a == nil || len(a.Proxies) == 0 {
		return err
	}
	env := maps.Clone(program.Env)
	for _, name := range program.WithheldVariables() {
		if !slices.Contains(a.Proxies, name) || !slices.Contains(proxyVariables, name) {
			continue
		}
		if env == nil {
			env = make(map[string]string)
		}
		env[name] = os.Getenv(name)
	}
	program.Env = env
	return nil
}
