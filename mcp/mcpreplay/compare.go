package mcpreplay

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpwire"
)

// Options of Compare and of a Player. The zero value, like a nil pointer, gives the defaults.
type Options struct {
	// Ignore has the members of results and errors that are not compared, as JSON pointers in which the
	// token * stands for any member or element, such as /content/*/text. Default: none.
	Ignore []string
	// MaxDifferences limits the differences of one exchange. Default: 10.
	MaxDifferences int
}

// Report is the outcome of a comparison.
type Report struct {
	// Compared counts the exchanges that were compared, and Skipped those that were not: without an answer, with one
	// that is cut, with arguments whose secrets are not in the recording, or of methods that are not sent again.
	Compared    int          `json:"compared"`
	Skipped     int          `json:"skipped"`
	Differences []Difference `json:"differences"`
}

// Difference is one difference.
type Difference struct {
	// Line is the number of the request among the lines of its recording, from 0 on.
	Line   int    `json:"line"`
	Method string `json:"method"`
	Name   string `json:"name,omitzero"` // of the tool or prompt, or the URI
	// Path is the JSON pointer in the result or error. In lists of features it has the name or URI in place of the
	// index.
	Path string `json:"path"`
	// Want is what the first recording has, and Got the other one or the server. Nil is nothing.
	Want jsontext.Value `json:"want,omitzero"`
	Got  jsontext.Value `json:"got,omitzero"`
}

// String returns the difference as one line.
func (d Difference) String() string {
	where := strings.TrimSpace(d.Method + " " + d.Name)
	if d.Path != "" {
		where += ": " + d.Path
	}
	return fmt.Sprintf("%s: got %s, want %s", where, orNothing(d.Got), orNothing(d.Want))
}

func orNothing(v jsontext.Value) string {
	const most = 200
	switch {
	case v == nil:
		return "nothing"
	case len(v) > most:
		return strings.ToValidUTF8(string(v[:most]), "") + "…"
	}
	return string(v)
}

// Compare compares what the clients of two recordings have asked for in both, and what they were answered. Requests for the
// same are compared in their order. The following is not compared: _meta, cursors, how long results may be
// kept, the order of lists of features, texts that the recordings have as redacted, and in texts: times
// as RFC 3339 has them, and UUIDs. Requests that only one of them has are differences with the path "".
func Compare(a, b *mcpwire.Recording, o *Options) *Report {
	r := newReport(o)
	left := make(map[string][]Exchange)
	for _, e := range Exchanges(b) {
		if compares(e.Method) {
			k := key(e.Method, withoutCursor(e.Params))
			left[k] = append(left[k], e)
		}
	}
	for _, want := range Exchanges(a) {
		if !compares(want.Method) {
			continue
		}
		k := key(want.Method, withoutCursor(want.Params))
		if len(left[k]) == 0 {
			r.add(Difference{Line: want.Line, Method: want.Method, Name: want.Name(), Want: want.Params})
			continue
		}
		r.compare(&want, &left[k][0])
		left[k] = left[k][1:]
	}
	for _, k := range slices.Sorted(maps.Keys(left)) {
		for _, got := range left[k] {
			r.add(Difference{Line: got.Line, Method: got.Method, Name: got.Name(), Got: got.Params})
		}
	}
	return &r.Report
}

// compares reports whether the answers to a method say something about the server: those of the handshake depend on
// the revision, and subscriptions have no result.
func compares(method string) bool {
	switch method {
	case mcp.MethodToolsList, mcp.MethodToolsCall, mcp.MethodResourcesList, mcp.MethodResourceTemplatesList, mcp.MethodResourcesRead,
		mcp.MethodPromptsList, mcp.MethodPromptsGet, mcp.MethodComplete:
		return true
	}
	return false
}

// reporter makes a Report.
type reporter struct {
	Report
	ignored        [][]string
	maxDifferences int

	exchange *Exchange // that is compared
	found    int       // differences of it
}

func newReport(o *Options) *reporter {
	const defaultDifferences = 10
	r := &reporter{Report: Report{Differences: []Difference{}}, maxDifferences: defaultDifferences}
	if o != nil {
		if o.MaxDifferences > 0 {
			r.maxDifferences = o.MaxDifferences
		}
		for _, pointer := range o.Ignore {
			r.ignored = append(r.ignored, slices.Collect(jsontext.Pointer(pointer).Tokens()))
		}
	}
	return r
}

func (r *reporter) add(d Difference) { r.Differences = append(r.Differences, d) }

// compare compares two exchanges for the same request.
func (r *reporter) compare(want, got *Exchange) {
	if !want.answered() || !got.answered() || want.Cut || got.Cut {
		r.Skipped++
		return
	}
	r.Compared++
	r.exchange, r.found = want, 0
	switch {
	case (want.Error == nil) != (got.Error == nil):
		r.differ(nil, firstOf(want.Result, want.Error), firstOf(got.Result, got.Error))
	case want.Error != nil:
		r.value(nil, code(want.Error), code(got.Error)) // the message is for people
	default:
		r.value(nil, comparable(want.Method, want.Result), comparable(got.Method, got.Result))
	}
}

func firstOf(a, b jsontext.Value) jsontext.Value {
	if a != nil {
		return a
	}
	return b
}

// code returns an error without its message and data. Not found is one code in one era and another in the other.
func code(err jsontext.Value) jsontext.Value {
	var e struct {
		Code int64 `json:"code"`
	}
	_ = json.Unmarshal(err, &e)
	const resourceNotFound, invalidParams = -32002, -32602
	if e.Code == resourceNotFound {
		e.Code = invalidParams
	}
	text, _ := json.Marshal(e)
	return text
}

// notCompared are members of results that say nothing about what was asked for.
var notCompared = []string{"_meta", "resultType", "ttlMs", "cacheScope", "nextCursor", "requestState"}

// featureLists are the members of results whose elements have names, and the member with the name.
var featureLists = map[string]string{"tools": "name", "prompts": "name", "resources": "uri", "resourceTemplates": "uriTemplate"}

// comparable returns a result without what is not compared, and with lists of features by name.
func comparable(method string, result jsontext.Value) jsontext.Value {
	var members map[string]jsontext.Value
	if json.Unmarshal(mcpwire.Redact(result), &members) != nil {
		return result
	}
	for _, name := range notCompared {
		delete(members, name)
	}
	if string(members["isError"]) == "false" {
		delete(members, "isError")
	}
	for name, by := range featureLists {
		var list []map[string]jsontext.Value
		if json.Unmarshal(members[name], &list) != nil || !strings.HasSuffix(method, "/list") {
			continue
		}
		named := make(map[string]map[string]jsontext.Value, len(list))
		for i, feature := range list {
			var id string
			if json.Unmarshal(feature[by], &id) != nil || named[id] != nil {
				id = strconv.Itoa(i)
			}
			delete(feature, "_meta")
			named[id] = feature
		}
		members[name], _ = json.Marshal(named)
	}
	text, err := json.Marshal(members)
	if err != nil {
		return result
	}
	return text
}

func (r *reporter) differ(at []string, want, got jsontext.Value) {
	if r.found++; r.found > r.maxDifferences {
		return
	}
	path := jsontext.Pointer("")
	for _, token := range at {
		path = path.AppendToken(token)
	}
	e := r.exchange
	r.add(Difference{Line: e.Line, Method: e.Method, Name: e.Name(), Path: string(path), Want: want, Got: got})
}

func (r *reporter) value(at []string, want, got jsontext.Value) {
	switch {
	case r.ignores(at):
	case want.Kind() == '{' && got.Kind() == '{':
		var w, g map[string]jsontext.Value
		if json.Unmarshal(want, &w) != nil || json.Unmarshal(got, &g) != nil {
			r.differ(at, want, got)
			return
		}
		names := slices.AppendSeq(slices.Collect(maps.Keys(w)), maps.Keys(g))
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			r.value(append(slices.Clone(at), name), w[name], g[name])
		}
	case want.Kind() == '[' && got.Kind() == '[':
		var w, g []jsontext.Value
		if json.Unmarshal(want, &w) != nil || json.Unmarshal(got, &g) != nil {
			r.differ(at, want, got)
			return
		}
		for i := range max(len(w), len(g)) {
			r.value(append(slices.Clone(at), strconv.Itoa(i)), element(w, i), element(g, i))
		}
	case !sameScalar(want, got):
		r.differ(at, want, got)
	}
}

func element(list []jsontext.Value, i int) jsontext.Value {
	if i < len(list) {
		return list[i]
	}
	return nil
}

func (r *reporter) ignores(at []string) bool {
	return slices.ContainsFunc(r.ignored, func(pointer []string) bool {
		return slices.EqualFunc(pointer, at, func(token, name string) bool { return token == "*" || token == name })
	})
}

// sameScalar compares values of which at most one is an object or an array. Nil is no value.
func sameScalar(want, got jsontext.Value) bool {
	if want == nil || got == nil {
		return want == nil && got == nil
	}
	if want.Kind() == '"' && got.Kind() == '"' {
		var w, g string
		if json.Unmarshal(want, &w) == nil && json.Unmarshal(got, &g) == nil {
			return sameText(w, g)
		}
	}
	w, g := want.Clone(), got.Clone()
	if w.Canonicalize() != nil || g.Canonicalize() != nil {
		return bytes.Equal(want, got)
	}
	return bytes.Equal(w, g)
}

// redactedText is what a recording has in place of a secret.
const redactedText = "[redacted]"

// changing matches what is different each time: times and UUIDs.
var changing = regexp.MustCompile(`(?i)\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)?|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

func sameText(want, got string) bool {
	if want == got || want == redactedText || got == redactedText {
		return true
	}
	const any = "\x00"
	return changing.ReplaceAllLiteralString(want, any) == changing.ReplaceAllLiteralString(got, any)
}

// withoutCursor returns params without a cursor, which only the server that has made it knows.
func withoutCursor(params jsontext.Value) jsontext.Value {
	var members map[string]jsontext.Value
	if json.Unmarshal(params, &members) != nil || members["cursor"] == nil {
		return params
	}
	delete(members, "cursor")
	text, err := json.Marshal(members)
	if err != nil {
		return params
	}
	return text
}
