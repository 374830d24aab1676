package config_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/host/userkey"
)

// TestErrorsSayWhereAndWhatWouldBeRight has one entry for each kind of mistake:
// the content, and all that is said of it.
func TestErrorsSayWhereAndWhatWouldBeRight(t *testing.T) {
	t.Parallel()
	tests := []struct {
		content string
		want    []string
	}{
		{"", []string{`1:1: found nothing, want an object`}},
		{"[]", []string{`1:1: found an array, want an object`}},
		{"{\n  \"mcpServers\": 3}", []string{`2:17: /mcpServers: found a number, want an object`}},
		{"{\"mcpServers\": {}} x", []string{`1:20: invalid character 'x' after top-level value`}},
		{"{\"mcpServers\": {\n  \"a\": {\"command\": \"c\"}\n  \"b\": {}}}", []string{`3:3: invalid character '"' after object value (expecting ',' or '}')`}},
		{`{"mcpservers": {}}`, []string{`1:1: found no "mcpServers", want {"mcpServers": {"NAME": {"command": …} or {"url": …}}}; found "mcpservers" (did you mean "mcpServers"?)`}},
		{strings.Repeat("[", 65), []string{`1:1: values nest deeper than 64`}},
		{
			`{"mcpServers": {"a": {"command": "c"}, "a": {"command": "d"}}}`,
			[]string{`1:40: /mcpServers/a: found a second "a", want one; the first is on line 1`},
		},
		{
			"{\"mcpServers\": {\n\"Git Hub\": {\"command\": \"c\"},\n\"git-hub\": {\"command\": \"c\"}}}",
			[]string{`3:1: /mcpServers/git-hub: name "git-hub": is used as "git-hub", which is that of "Git Hub" on line 2; want another name`},
		},
		{"{\"mcpServers\": {\n\"a\": {\"command\": 1}}}", []string{`2:18: /mcpServers/a/command: found a number, want a string, or an array of strings`}},
		{`{"mcpServers": {"a": {"command": "c", "args": "x"}}}`, []string{`1:47: /mcpServers/a/args: found a string, want an array`}},
		{`{"mcpServers": {"a": {"command": "c", "args": [1, true]}}}`, []string{
			`1:48: /mcpServers/a/args/0: found a number, want a string`,
			`1:51: /mcpServers/a/args/1: found a boolean, want a string`,
		}},
		{`{"mcpServers": {"a": {"command": "c", "env": {"PORT": []}}}}`, []string{`1:55: /mcpServers/a/env/PORT: found an array, want a string`}},
		{`{"mcpServers": {"a": "c"}}`, []string{`1:22: /mcpServers/a: found a string, want an object`}},
		{`{"mcpServers": {"a": {"args": []}}}`, []string{`1:22: /mcpServers/a: found neither command nor url, want one of them`}},
		{`{"mcpServers": {"a": {"command": "", "args": []}}}`, []string{`1:34: /mcpServers/a/command: found an empty command, want the name of a program`}},
		{`{"mcpServers": {"a": {"command": "c", "url": "http://h"}}}`, []string{`1:22: /mcpServers/a: found both a command and a url, want one of them`}},
		{`{"mcpServers": {"a": {"url": "http://h", "serverUrl": "http://i"}}}`, []string{`1:55: /mcpServers/a/serverUrl: found a value that differs from url, want one of the two`}},
		{`{"mcpServers": {"a": {"command": "c", "type": "http"}}}`, []string{`1:22: /mcpServers/a: found the type of a url beside a command, want "stdio" or none`}},
		{`{"mcpServers": {"a": {"command": "c", "headers": {"a": "b"}}}}`, []string{`1:56: /mcpServers/a/headers/a: found a header beside a command, want headers beside a url only`}},
		{`{"mcpServers": {"a": {"url": "ftp://h"}}}`, []string{`1:30: /mcpServers/a/url: found an address that no server has, want an http or https URL such as https://example.com/mcp, or unix:///PATH`}},
		{`{"mcpServers": {"a": {"url": "unix://run/a.sock"}}}`, []string{`1:30: /mcpServers/a/url: found an address that no server has, want an http or https URL such as https://example.com/mcp, or unix:///PATH`}},
		{`{"mcpServers": {"a": {"url": "unix:///a.sock", "type": "http", "headers": {"a": "b"}}}}`, []string{
			`1:22: /mcpServers/a: found a type beside a unix socket, want none: its messages are lines, as over stdio`,
			`1:81: /mcpServers/a/headers/a: found a header beside a unix socket, want headers beside an http or https URL only`,
		}},
		{`{"mcpServers": {"a": {"url": "http://h", "headers": {"X Key": "a", "": "b", "ключ": "c", "X-Key:": "d"}}}}`, []string{
			`1:63: /mcpServers/a/headers/X Key: found a name that no header can have, want letters, digits and hyphens, such as X-Api-Key`,
			`1:72: /mcpServers/a/headers/: found a name that no header can have, want letters, digits and hyphens, such as X-Api-Key`,
			`1:89: /mcpServers/a/headers/ключ: found a name that no header can have, want letters, digits and hyphens, such as X-Api-Key`,
			`1:104: /mcpServers/a/headers/X-Key:: found a name that no header can have, want letters, digits and hyphens, such as X-Api-Key`,
		}},
		{`{"mcpServers": {"a": {"url": "http://h", "headers": {"host": "a", "X-Key": "b", "x-key": "c", "A": "Bearer b"}}}}`, []string{
			`1:62: /mcpServers/a/headers/host: found the header Host, which each request sets itself; want others`,
			`1:90: /mcpServers/a/headers/x-key: found the header X-Key twice, want it once: case does not distinguish names`,
		}},
		{`{"mcpServers": {"a": {"url": "http://h", "headers": {"A": "Bearer CANARY\n"}}}}`, []string{
			`1:59: /mcpServers/a/headers/A: found a line break or another control character in the value of a header, want one line of text`,
		}},
		{`{"mcpServers": {"a": {"url": "http://h", "type": "htp"}}}`, []string{`1:50: /mcpServers/a/type: found "htp", want "stdio", "http" or "sse" (did you mean "http"?)`}},
		{`{"mcpServers": {"a": {"url": "http://h", "args": ["x"]}}}`, []string{`1:51: /mcpServers/a/args/0: found a member for a command beside a url, want it beside a command only`}},
		{`{"mcpServers": {"a": {"command": "${UNSET}"}}}`, []string{`1:34: /mcpServers/a/command: the variable UNSET is not set, want it in the environment of the host, or a default as in ${UNSET:-text}`}},
		{`{"mcpServers": {"a": {"command": "c", "args": ["${env:UNSET} ${GONE}"]}}}`, []string{
			`1:48: /mcpServers/a/args/0: the variable UNSET is not set, want it in the environment of the host, or a default as in ${UNSET:-text}`,
			`1:48: /mcpServers/a/args/0: the variable GONE is not set, want it in the environment of the host, or a default as in ${GONE:-text}`,
		}},
		{`{"mcpServers": {"a": {"command": "c", "env": {"A": "${FONDACO_KEYS:-}"}}}}`, []string{`1:52: /mcpServers/a/env/A: the variable FONDACO_KEYS has secrets of the host, which no server gets; want another variable`}},
		{`{"mcpServers": {"a": {"command": "c", "args": ["${FONDACO_STORE}"]}}}`, []string{`1:48: /mcpServers/a/args/0: the variable FONDACO_STORE has secrets of the host, which no server gets; want another variable`}},
		{`{"mcpServers": {"a": {"url": "http://h", "headers": {"A": "${env:` + userkey.Variable + `}"}}}}`, []string{`1:59: /mcpServers/a/headers/A: the variable ` + userkey.Variable + ` has secrets of the host, which no server gets; want another variable`}},
		{`{"mcpServers": {"a": {"command": "c", "args": ["${input:x}"]}}}`, []string{`1:48: /mcpServers/a/args/0: found ${input:x}, want an input of that id among "inputs"`}},
		{`{"inputs": [{"id": "x"}], "mcpServers": {"a": {"command": "c", "args": ["${input:x}"]}}}`, []string{`1:73: /mcpServers/a/args/0: input "x": there is no terminal to ask for it; set the variable FONDACO_INPUT_X`}},
		{`{"mcpServers": {"a": {"command": "c", "args": ["${command:x}"]}}}`, []string{`1:48: /mcpServers/a/args/0: found ${command:x}, want ${NAME}, ${NAME:-default}, ${env:NAME}, ${input:ID}, ${file:PATH}, ${workspaceFolder} or ${userHome}`}},
		{`{"mcpServers": {"a": {"command": "c", "fondaco": {"shared": true, "idle": 5, "confirm": "allways"}}}}`, []string{
			`1:51: /mcpServers/a/fondaco/shared: found "shared", want "share", "lazy", "idle", "startupTimeout", "timeout", "allow", "deny", "confirm", "auditArguments", "dev", "roots", "sampling", "elicitation", "secrets", "trust", "dynamic" or "validate" (did you mean "share"?)`,
			`1:75: /mcpServers/a/fondaco/idle: found a number, want a string`,
			`1:89: /mcpServers/a/fondaco/confirm: found "allways", want "never", "destructive" or "always" (did you mean "always"?)`,
		}},
		{`{"mcpServers": {"a": {"command": "c", "fondaco": {"share": "yes", "deny": {"a": "b"}, "confirm": ["x"]}}}}`, []string{
			`1:60: /mcpServers/a/fondaco/share: found a string, want a boolean`,
			`1:75: /mcpServers/a/fondaco/deny: found an object, want a string, or an array of strings`,
			`1:98: /mcpServers/a/fondaco/confirm: found an array, want "never", "destructive" or "always", or an object of patterns`,
		}},
		{`{"mcpServers": {"a": {"command": "c", "fondaco": {"confirm": {"*": 1}, "idle": "-5m"}}}}`, []string{
			`1:68: /mcpServers/a/fondaco/confirm/*: found a number, want a string`,
			`1:80: /mcpServers/a/fondaco/idle: found "-5m", want a duration such as "90s" or "10m"`,
		}},
		{`{"mcpServers": {"a": {"command": "c", "fondaco": {"idle": "5"}}}}`, []string{`1:59: /mcpServers/a/fondaco/idle: found "5", want a duration such as "90s" or "10m"`}},
	}
	dir := t.TempDir()
	for _, test := range tests {
		path := write(t, dir, "mcp.json", test.content)
		_, err := config.Load(path, &config.Options{Env: env(nil), Strict: true})
		var got []string
		if err != nil {
			for line := range strings.Lines(err.Error()) {
				got = append(got, strings.TrimPrefix(strings.TrimSuffix(line, "\n"), path+":"))
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s\ngot  %s\nwant %s", test.content, strings.Join(got, "\n     "), strings.Join(test.want, "\n     "))
		}
		if _, ok := errors.AsType[*config.Diagnostic](err); !ok {
			t.Errorf("%s: got %T, want a Diagnostic", test.content, err)
		}
	}
}

func TestBrokenServerEntryDisablesOnlyItself(t *testing.T) {
	t.Parallel()
	path := write(t, t.TempDir(), "mcp.json", `{"mcpServers": {
		"bad": {"command": 7},
		"good": {"command": "c"},
		"twin": {"command": "c"}, "twin": {"command": "d"},
		"unset": {"command": "${UNSET}"}
	}}`)
	c, err := load(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Upstreams) != 1 || c.Upstreams[0].Key != "good" {
		t.Errorf("got %v, want the good one alone", c.Upstreams)
	}
	if want := []string{"bad", "twin", "unset"}; !slices.Equal(c.Broken, want) || len(c.Errors) != 3 {
		t.Errorf("got broken %q with %v, want %q", c.Broken, texts(c.Errors), want)
	}
}

func TestErrorsInTOMLHaveLineAndColumn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for content, want := range map[string]string{
		"[mcp_servers.a]\ncommand = 1\n":                      `2:11: /mcp_servers/a/command: found a number, want a string, or an array of strings`,
		"[mcp_servers.a]\ncommand = \"c\"\nargs = [\"x\", 2]": `3:14: /mcp_servers/a/args/1: found a number, want a string`,
		"[mcp_servers]\n[mcp_servers.a]\nurl = \"ftp://x\"\n": `3:7: /mcp_servers/a/url: found an address that no server has, want an http or https URL such as https://example.com/mcp, or unix:///PATH`,
		"x = 1\nx = 2\n":                `2:1: `,
		"[mcp_servers.a]\ncommand = \n": `2:11: `,
		"[mcp_servers.a]\ncommand = 'c'\nenv_vars = ['A', 'FONDACO_KEYS']":  `3:18: /mcp_servers/a/env_vars/1: the variable FONDACO_KEYS has secrets of the host, which no server gets; want another variable`,
		"[mcp_servers.a]\nurl = 'https://x'\nbearer_token_env_var = 'GONE'": `3:24: /mcp_servers/a/bearer_token_env_var: the variable GONE is not set, want it in the environment of the host`,
	} {
		path := write(t, dir, "config.toml", content)
		_, err := config.Load(path, &config.Options{Env: env(nil), Strict: true})
		if err == nil || !strings.HasPrefix(err.Error(), path+":"+want) {
			t.Errorf("%s\ngot  %v\nwant %s", content, err, want)
		}
	}
}
