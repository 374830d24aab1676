package proof

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// An attack is one message to send. Its verdict describes the responses.
type attack struct {
	operator, revision, title string

	frame   []byte              // the message,
	make    func() []byte       // or a function that makes it
	request func(r *rawRequest) // modifies its HTTP request
	code    string              // with which it must be refused, if not empty
	fresh   bool                // on a connection of its own
	id      string              // of the response, if it has that of the message
	method  string              // of the seed
}

// verdicts are those of one transport, by attack. In their file each operator is followed
// by lines of revisions, a verdict, and messages:
//
//	# cut in half
//	2025-11-25 | -32700 without id | initialize ping tools/call
type verdicts map[string]string

func (a *attack) key() string { return a.operator + "\x00" + a.revision + "\x00" + a.title }

func verdictFile(transport string) string {
	return filepath.Join("testdata", "hostile", transport+".txt")
}

func readVerdicts(t *testing.T, transport string) verdicts {
	t.Helper()
	data, err := os.ReadFile(verdictFile(transport))
	if err != nil {
		t.Fatal(err)
	}
	v, a := make(verdicts), attack{}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "# "); ok {
			a.operator = name
			continue
		}
		fields := strings.Split(line, " | ")
		if len(fields) != 3 {
			continue
		}
		for _, a.revision = range strings.Fields(fields[0]) {
			for _, a.title = range strings.Fields(fields[2]) {
				v[a.key()] = fields[1]
			}
		}
	}
	return v
}

// write writes the verdicts of attacks, operator by operator.
func (v verdicts) write(t *testing.T, transport string, attacks []attack) {
	t.Helper()
	var b strings.Builder
	for len(attacks) > 0 {
		operator := attacks[0].operator
		n := slices.IndexFunc(attacks, func(a attack) bool { return a.operator != operator })
		if n < 0 {
			n = len(attacks)
		}
		fmt.Fprintf(&b, "# %s\n%s\n", operator, v.rows(attacks[:n]))
		attacks = attacks[n:]
	}
	if err := os.WriteFile(verdictFile(transport), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// rows are the lines of one operator. Messages with the same verdict share a line, as do
// revisions with the same result.
func (v verdicts) rows(attacks []attack) string {
	var order []string
	titles, revisions := make(map[string][]string), make(map[string][]string)
	for _, a := range attacks {
		row := a.revision + " | " + v[a.key()]
		if titles[row] == nil {
			order = append(order, row)
		}
		titles[row] = append(titles[row], a.title)
	}
	var merged []string
	for _, row := range order {
		revision, verdict, _ := strings.Cut(row, " | ")
		rest := verdict + " | " + strings.Join(titles[row], " ")
		if revisions[rest] == nil {
			merged = append(merged, rest)
		}
		revisions[rest] = append(revisions[rest], revision)
	}
	var b strings.Builder
	for _, rest := range merged {
		fmt.Fprintf(&b, "%s | %s\n", strings.Join(revisions[rest], " "), rest)
	}
	return b.String()
}

// A reply has the relevant parts of a message from the server.
type reply struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Error  *struct {
		Code int `json:"code"`
	} `json:"error"`
	Result *struct {
		IsError    bool   `json:"isError"`
		ResultType string `json:"resultType"`
	} `json:"result"`
}

// readReplies parses a message or a batch. An invalid one is a reply that no verdict
// expects.
func readReplies(text []byte) (list []reply, batch bool) {
	if len(text) > 0 && text[0] == '[' {
		if json.Unmarshal(text, &list) == nil {
			return list, true
		}
	}
	var r reply
	if err := json.Unmarshal(text, &r); err != nil {
		r.Method = fmt.Sprintf("not valid: %v", err)
	}
	return []reply{r}, false
}

// describe returns what a message of the server means for an attack, empty if it is about
// something else.
func (a *attack) describe(text []byte) string {
	list, batch := readReplies(text)
	var words []string
	for _, r := range list {
		if word := a.word(r); word != "" {
			words = append(words, word)
		}
	}
	if fault := forbiddenReply(text, batch); fault != "" {
		words = append(words, fault)
	}
	slices.Sort(words)
	if batch {
		return "[" + strings.Join(counted(words), " ") + "]"
	}
	return strings.Join(words, " ")
}

// forbiddenReply returns why no response may be like this: an error as long as the request, or
// one with internals of the program.
func forbiddenReply(text []byte, batch bool) string {
	switch {
	case bytes.Contains(text, []byte(`"error":`)) && len(text) > 1<<10 && !batch:
		return fmt.Sprintf("error of %d bytes", len(text))
	case internals.Match(text):
		return "told what is nobody's business"
	}
	return ""
}

// internals matches internals of the process.
var internals = regexp.MustCompile(`\.go:\d|goroutine \d|github\.com/|/proc/|/tmp/|runtime error|0x[0-9a-f]{8}`)

func (a *attack) word(r reply) string {
	switch {
	case r.Method == "notifications/subscriptions/acknowledged":
		return "acknowledged"
	case r.Method != "":
		return ""
	case r.Error != nil && (r.ID == nil || string(r.ID) == "null"):
		return fmt.Sprint(r.Error.Code) + " without id"
	case r.Error != nil && string(r.ID) == a.id:
		return fmt.Sprint(r.Error.Code)
	case r.Error != nil:
		return fmt.Sprint(r.Error.Code) + " with another id"
	case r.Result == nil:
		return "neither result nor error"
	case r.Result.IsError:
		return "result that is an error"
	}
	return "result"
}

// counted merges equal words, with their number.
func counted(words []string) (list []string) {
	for len(words) > 0 {
		n := slices.IndexFunc(words, func(w string) bool { return w != words[0] })
		if n < 0 {
			n = len(words)
		}
		if n > 1 {
			list = append(list, fmt.Sprintf("%d×", n))
		}
		list = append(list, words[0])
		words = words[n:]
	}
	return list
}

// verdictOf joins the responses into one line.
func verdictOf(words []string) string {
	slices.Sort(words)
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(counted(words), ", ")
}
