package model_test

import (
	"bufio"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// message is any JSON-RPC message of a server.
type message struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params struct {
		Progress      float64 `json:"progress"`
		ProgressToken string  `json:"progressToken"`
		Message       string  `json:"message"`
		URI           string  `json:"uri"`
	} `json:"params"`
	Result *callResult `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// callResult is a result of tools/call, tasks/get and others.
type callResult struct {
	ResultType string `json:"resultType"`
	Content    []struct {
		Text string `json:"text"`
	} `json:"content"`
	IsError       bool                      `json:"isError"`
	InputRequests map[string]jsontext.Value `json:"inputRequests"`
	RequestState  string                    `json:"requestState"`

	TaskID string          `json:"taskId"`
	Status string          `json:"status"`
	Result *callResult     `json:"result"`
	Error  *jsontext.Value `json:"error"`
}

func (r *callResult) text() string {
	if len(r.Content) == 0 {
		return ""
	}
	return r.Content[0].Text
}

func parse(text string) (m message, err error) {
	err = json.Unmarshal([]byte(text), &m)
	return m, err
}

// outcome returns the outcome of a call that a reply is.
func (m message) outcome() (outcomeKind, string) {
	switch {
	case m.Error != nil:
		return failed, m.Error.Message
	case m.Result == nil:
		return failed, "neither result nor error"
	case m.Result.IsError:
		return failed, m.Result.text()
	}
	return succeeded, m.Result.text()
}

// event is one server-sent event.
type event struct{ id, data string }

// number returns the stream and the number of an event.
func (e event) number() (stream string, n int64) {
	stream, text, _ := strings.Cut(e.id, "-")
	n, _ = strconv.ParseInt(text, 10, 64)
	return stream, n
}

// readEvents calls handle for each event, until it returns false or nothing more can be read.
func readEvents(r io.Reader, handle func(event) bool) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	var e event
	some := false
	for lines.Scan() {
		switch name, value, _ := strings.Cut(lines.Text(), ":"); {
		case name == "id":
			e.id, some = strings.TrimPrefix(value, " "), true
		case name == "data":
			e.data, some = strings.TrimPrefix(value, " "), true
		case lines.Text() == "" && some:
			if !handle(e) {
				return nil
			}
			e, some = event{}, false
		}
	}
	return lines.Err()
}

// request returns the text of a request of the session era.
func request(id, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":%q,"params":{%s}}`, id, method, params)
}

func notification(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{%s}}`, method, params)
}

// toolCall returns the params of a call.
func toolCall(tool string, in arguments) string {
	args, _ := json.Marshal(in)
	return fmt.Sprintf(`"name":%q,"arguments":%s,"_meta":{"progressToken":%q}`, tool, args, in.Nonce)
}

// statelessMeta is the metadata of a request of 2026-07-28.
const statelessMeta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}%s}`

// stateless returns the text and the header of a request of 2026-07-28. Extensions are those of
// the client, as JSON.
func stateless(method, name, params, token, extensions string) (string, http.Header) {
	meta := fmt.Sprintf(statelessMeta, extensions)
	if token != "" {
		meta += fmt.Sprintf(`,"progressToken":%q`, token)
	}
	header := http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {method},
	}
	if name != "" {
		header.Set("Mcp-Name", name)
	}
	return request("1", method, params+`,"_meta":{`+meta+`}`), header
}
