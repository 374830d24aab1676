//go:build !race

package cli_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// weakCall calls a tool at the host by a client that can show no form, and returns how the call ends.
func (h *consentHost) weakCall(t *testing.T, tool string) (ended func() string) {
	t.Helper()
	target := mcpclient.Command(program(t), "stdio")
	target.Env = make(map[string]string)
	for _, variable := range h.Env {
		name, value, _ := strings.Cut(variable, "=")
		target.Env[name] = value
	}
	c, err := mcpclient.Connect(t.Context(), target, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	result := make(chan string, 1)
	go func() {
		got, err := c.CallTool(context.Background(), tool, nil)
		if err != nil {
			result <- err.Error()
			return
		}
		result <- got.Content.Text()
	}()
	return func() string { return <-result }
}

func TestUserAnswersAServerForAClientThatCannotShowIt(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-337a", "R-337b", "R-338c")
	h := newConsentHost(t)
	ended := h.weakCall(t, "one__book")
	h.press(t, `(?s)1 The server "one" asks you to fill in a form.*message    Which seat would you like\?.*field      Row \(an integer\).*Answer question 1 of the server "one"\? \[y fill it in, d decline, c cancel; Enter later\] `, "y\n")
	h.press(t, `Row \(an integer\): `, "4\n")
	h.press(t, `At the window \(y or n\): `, "y\n")
	h.press(t, `class \(one of first, second\): `, "first\n")
	h.press(t, `Send {"row":4,"window":true,"class":"first"}\? \[y send, e edit, d decline, c cancel\] `, "y\n")
	if got := ended(); got != "booked first" {
		t.Errorf("got %q, want the answer of the user", got)
	}

	// A command answers with the code that the host shows, once the question is put off.
	ended = h.weakCall(t, "one__book")
	code := h.screen.await(t, `answer 2 --code (\d{6})`)[1]
	h.press(t, `Answer question 2 of the server "one"\?.*later\] `, "\n")
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"inbox", "2"}, 0, `2 The server "one" asks you to fill in a form`},
		{[]string{"answer", "2"}, 2, "found no terminal and no --content, want the fields of the form as JSON"},
		{[]string{"answer", "2", "--content", `{"row":"x"}`, "--code", code}, 2, "row"},
		{[]string{"answer", "2", "--content", `{"row":4}`, "--text", "4", "--code", code}, 2, "found --content and --text"},
		{[]string{"answer", "2", "--content", `{"row":4,"window":true,"class":"second"}`}, 6, "--code"},
		{[]string{"answer", "2", "--content", `{"row":4,"window":true,"class":"second"}`, "--code", code}, 0, "question 2 is answered"},
	} {
		if text, exit := h.run(t, test.args...); exit != test.code || !strings.Contains(text, test.want) {
			t.Errorf("%q: got %q, %d, want %d and %q", test.args, text, exit, test.code, test.want)
		}
	}
	if got := ended(); got != "booked second" {
		t.Errorf("got %q, want the answer by the command", got)
	}

	// The console has a page for the question, and needs the code, too.
	link, _ := h.run(t, "open", "--print")
	c := enterConsole(t, link)
	ended = h.weakCall(t, "one__book")
	code = h.screen.await(t, `answer 3 --code (\d{6})`)[1]
	if _, page := c.get(t, "inbox/questions/3"); !strings.Contains(page, "asks you to fill in a form") || !strings.Contains(page, `name="/row"`) || strings.Contains(page, code) {
		t.Errorf("got %s, want the form and no code", page)
	}
	form := url.Values{"answer": {"accept"}, "/row": {"4"}, "/window": {"true"}, "/class": {`"first"`}}
	if status, page := c.post(t, "inbox/questions/3", form); status != 409 || !strings.Contains(page, `value="4"`) {
		t.Errorf("got %d, %s, want the code missed, and the answer kept", status, page)
	}
	form.Set("code", code)
	if status, page := c.post(t, "inbox/questions/3", form); status != 303 {
		t.Errorf("got %d, %s, want the answer taken", status, page)
	}
	if got := ended(); got != "booked first" {
		t.Errorf("got %q, want the answer in the console", got)
	}
	if text, exit := h.run(t, "audit", "search", "--decision", "answer"); exit != 0 || strings.Count(text, "form") != 3 {
		t.Errorf("got %q, %d, want both answers recorded", text, exit)
	}
}

// A server that asks without end takes few places in the inbox: requests for the answer of a model, which a person gives,
// count as forms do.
func TestServerHasFewQuestionsAtATime(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-327b", "R-338d")
	h := newHostOfOne(t, `"env": {"`+role+`": "server", "ASK_MORE": "1"}, "fondaco": {"sampling": "ask"}`)
	var ended []func() string
	for _, tool := range []string{"one__praise", "one__book", "one__praise", "one__praise"} {
		ended = append(ended, h.weakCall(t, tool))
	}
	within(t, "four questions wait", func() bool {
		text, _ := h.run(t, "inbox")
		return strings.Count(text, "asks you to fill in a form")+strings.Count(text, "asks for the answer of a model") == 4
	})
	for _, tool := range []string{"one__praise", "one__book"} {
		if got := h.weakCall(t, tool)(); !strings.Contains(got, "too many questions wait for an answer") {
			t.Errorf("%s: got %q, want a fifth question refused", tool, got)
		}
	}
	for i, end := range ended {
		h.press(t, fmt.Sprintf(`Answer question %d of the server "one"\?.*later\] `, i+1), "d\n")
		defer end()
	}
}

func TestHostAsksItsUserForACommandWithoutATerminal(t *testing.T) {
	t.Parallel()
	h := newConsentHost(t)
	ended := make(chan string, 1)
	go func() {
		text, _ := h.run(t, "call", "one/book")
		ended <- text
	}()
	h.press(t, `Answer question 1 of the server "one"\?.*later\] `, "y\n")
	h.press(t, `Row \(an integer\): `, "4\n")
	h.press(t, `At the window \(y or n\): `, "y\n")
	h.press(t, `class \(one of first, second\): `, "first\n")
	h.press(t, `Send .*cancel\] `, "send\n")
	if got := <-ended; !strings.Contains(got, "booked first") {
		t.Errorf("got %q, want the answer of the user", got)
	}
}

func TestUserAnswersForAModelAndOpensAnAddressForAClientThatCanDoNeither(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-362", "R-337b", "R-344b", "R-347b", "R-347c", "R-350")
	h := newHostOfOne(t, `"env": {"`+role+`": "server", "ASK_MORE": "1"}, "fondaco": {"sampling": "ask"}`)
	ended := h.weakCall(t, "one__praise")
	h.press(t, `(?s)1 The server "one" asks for the answer of a model.*system prompt Be kind.*1 user     Praise the sea.*model      at most 100 tokens.*server sees.*\[y write the answer, d decline, c cancel; Enter later\] `, "y\n")
	h.press(t, `The answer that the server gets:\r\n\| `, "It is wide.\n")
	h.press(t, `It is wide.\r\n\| `, ".\n")
	h.press(t, `Send it to the server\? \[y send, e edit, d decline, c cancel\] `, "y\n")
	if got := ended(); got != "It is wide." {
		t.Errorf("got %q, want the answer of the user", got)
	}
	ended = h.weakCall(t, "one__praise")
	h.press(t, `Answer question 2 of the server "one"\?.*later\] `, "d\n")
	if got := ended(); !strings.Contains(got, "the user refused it") {
		t.Errorf("got %q, want the refusal of the user", got)
	}

	ended = h.weakCall(t, "one__pay")
	h.press(t, `(?s)3 The server "one" asks you to open an address.*host       xn--80ak6aa92e.com.*warning .*looks like apple.com and is not.*address    https://xn--80ak6aa92e.com/pay.*\[y go on, d decline, c cancel; Enter later\] `, "y\n")
	h.press(t, `Open xn--80ak6aa92e.com in your browser\? \[y open, N decline, c cancel\] `, "y\n")
	h.press(t, `no desktop was found; open the address yourself\r\n.*Go on once you are done there\? \[Y done, r open it again, c cancel\] `, "r\n")
	h.press(t, `(?s)open the address yourself.*open the address yourself\r\n.*Go on once you are done there\?.*cancel\] `, "\n")
	if got := ended(); got != "paid" {
		t.Errorf("got %q, want the consent of the user", got)
	}

	ended = h.weakCall(t, "one__praise")
	code := h.screen.await(t, `answer 4 --code (\d{6})`)[1]
	if text, exit := h.run(t, "answer", "4", "--text", "It is deep.", "--code", code); exit != 0 {
		t.Errorf("got %q, %d, want the answer taken", text, exit)
	}
	if got := ended(); got != "It is deep." {
		t.Errorf("got %q, want the answer by the command", got)
	}
}
