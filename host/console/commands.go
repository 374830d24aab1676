package console

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
)

// Request is a call of a tool, a prompt or a read of a resource: Tool, Prompt or URI is set.
type Request struct {
	Tool *mcp.Tool
	// Arguments are those of the tool, an object.
	Arguments jsontext.Value
	Prompt    string
	// PromptArguments are those of the prompt.
	PromptArguments map[string]string
	URI             string
	// Revision is that of the client; zero for the newest.
	Revision mcp.Revision
}

// HTTPRequest is a request as it goes to the endpoint of the host.
type HTTPRequest struct {
	Header http.Header
	Body   []byte
}

// maxCommand limits the arguments of a request that is shown as a command, in bytes.
const maxCommand = 32 << 10

// commands are a request in other places than the console. They are empty if it is too long for a line.
type commands struct{ Terminal, Curl, Go string }

// commandsFor returns the commands of a request.
func (c *Console) commandsFor(ctx context.Context, r *Request) commands {
	size := len(r.Arguments)
	for _, value := range r.PromptArguments {
		size += len(value)
	}
	if size > maxCommand {
		return commands{}
	}
	all := commands{Terminal: c.terminalLine(r), Go: c.goProgram(r)}
	if sent, err := c.source.HTTPRequest(ctx, r); err == nil { // what cannot be sent has no line
		all.Curl = c.curlLine(sent)
	}
	return all
}

// terminalLine returns the command of the program. Names of servers may begin as flags do.
func (c *Console) terminalLine(r *Request) string {
	line := "fondaco "
	var operands []string
	switch {
	case r.Tool != nil:
		line, operands = line+"call", []string{host.DisplayName(r.Tool.Name), string(r.Arguments)}
	case r.Prompt != "":
		line, operands = line+"prompt", []string{host.DisplayName(r.Prompt)}
		for _, name := range slices.Sorted(maps.Keys(r.PromptArguments)) {
			operands = append(operands, name+"="+r.PromptArguments[name])
		}
	default:
		line, operands = line+"read", []string{r.URI}
	}
	if c.hostURL != "" {
		line += " --url " + shellWord(runtime.GOOS, c.hostURL)
	}
	if slices.ContainsFunc(operands, func(o string) bool { return strings.HasPrefix(o, "-") }) {
		line += " --"
	}
	for _, o := range operands {
		line += " " + shellWord(runtime.GOOS, o)
	}
	return line
}

// shellWord quotes a word for the shell of a system: PowerShell on Windows, which knows more quotes, and where one inside
// of a text is written twice.
func shellWord(system, word string) string {
	if system != "windows" {
		return host.ShellQuote(word)
	}
	if word != "" && strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_:./-") == "" {
		return word
	}
	twice := strings.NewReplacer("'", "''", "\u2018", "\u2018\u2018", "\u2019", "\u2019\u2019", "\u201a", "\u201a\u201a", "\u201b", "\u201b\u201b")
	return "'" + twice.Replace(host.EscapeUnprintable(word)) + "'"
}

// tokenVariable is the variable of a shell with the token of a client. No command has a token itself.
const tokenVariable = "FONDACO_TOKEN"

// curlLine returns a request as a line of a shell.
func (c *Console) curlLine(r *HTTPRequest) string {
	line := "curl -sS " + shellWord(runtime.GOOS, c.endpoint())
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		for _, value := range r.Header[name] {
			line += " -H " + shellWord(runtime.GOOS, name+": "+value)
		}
	}
	if c.needsToken {
		line += ` -H "Authorization: Bearer $` + tokenVariable + `"`
	}
	return line + " --data-raw " + shellWord(runtime.GOOS, string(r.Body))
}

// endpoint is the URL of the host for clients.
func (c *Console) endpoint() string { return c.base + "/mcp" }

// goProgram returns a program that makes a request.
func (c *Console) goProgram(r *Request) string {
	var options []string
	if !r.Revision.IsZero() && r.Revision != revisions[0] {
		name := "V" + strings.ReplaceAll(r.Revision.String(), "-", "")
		options = append(options, "Revisions: []mcp.Revision{mcp."+name+"}")
	}
	if c.needsToken {
		options = append(options, `HTTP: mcpclient.HTTPOptions{Header: http.Header{"Authorization": {"Bearer " + os.Getenv("`+tokenVariable+`")}}}`)
	}
	imports := []string{"context", "log"}
	call, print := "", "fmt.Println(result.Content.Text())"
	switch {
	case r.Tool != nil:
		imports = append(imports, "encoding/json/jsontext", "fmt")
		call = fmt.Sprintf("CallTool(ctx, %+q, jsontext.Value(%s))", r.Tool.Name, goString(string(r.Arguments)))
	case r.Prompt != "":
		imports = append(imports, "fmt")
		call = fmt.Sprintf("GetPrompt(ctx, %+q, %s)", r.Prompt, goMap(r.PromptArguments))
		print = "for _, m := range result.Messages {\n\t\tfmt.Println(m.Role, m.Content)\n\t}"
	default:
		imports = append(imports, "fmt")
		call = fmt.Sprintf("ReadResource(ctx, %+q)", r.URI)
		print = "for _, one := range result.Contents {\n\t\tfmt.Println(one.URI, one.Text)\n\t}"
	}
	if c.needsToken {
		imports = append(imports, "net/http", "os")
	}
	own := []string{"github.com/fondaco/fondaco/mcp/mcpclient"}
	if strings.Contains(strings.Join(options, ""), "mcp.V") {
		own = append(own, "github.com/fondaco/fondaco/mcp")
	}
	given := "nil"
	if len(options) > 0 {
		given = "&mcpclient.Options{" + strings.Join(options, ", ") + "}"
	}
	return fmt.Sprintf(goText, goImports(imports), goImports(own), c.endpoint(), given, call, print)
}

const goText = `package main

import (
%s
%s)

func main() {
	ctx := context.Background()
	c, err := mcpclient.Connect(ctx, mcpclient.URL(%q), %s)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	result, err := c.%s
	if err != nil {
		log.Fatal(err)
	}
	%s
}
`

func goImports(paths []string) (lines string) {
	for _, path := range slices.Sorted(slices.Values(paths)) {
		lines += fmt.Sprintf("\t%q\n", path)
	}
	return lines
}

// goString is a string of Go: raw, if it can be.
func goString(text string) string {
	if strconv.CanBackquote(text) && host.EscapeUnprintable(text) == text {
		return "`" + text + "`"
	}
	return strconv.QuoteToASCII(text)
}

func goMap(values map[string]string) string {
	if len(values) == 0 {
		return "nil"
	}
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		pairs = append(pairs, fmt.Sprintf("%+q: %+q", name, values[name]))
	}
	return "map[string]string{" + strings.Join(pairs, ", ") + "}"
}
