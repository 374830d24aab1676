package console_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host/console"
	"github.com/fondaco/fondaco/internal/claim"
)

// serverInbox is an inbox with a question of each kind that a server asks.
func serverInbox() console.Inbox {
	return console.Inbox{Questions: []console.Question{
		{
			ID: "1", Expires: time.Date(2026, 7, 28, 18, 30, 0, 0, time.Local), Text: `The server "hotel" asks you to fill in a form`, Client: "editor 1", NeedsCode: true, Details: []console.Detail{{Name: "message", Text: "How long?"}},
			Server: &console.ServerQuestion{Form: []byte(`{"type":"object","properties":{"nights":{"type":"integer","title":"Nights"},"meal":{"enum":["soup","fish"]}},"required":["nights"]}`)},
		},
		{
			ID: "2", Text: `The server "hotel" asks you to open an address`, Details: []console.Detail{{Name: "address", Text: "https://pay.example/a?b=https://bank.example"}},
			Server: &console.ServerQuestion{URL: "https://pay.example/a?b=https://bank.example", Host: "pay.example"},
		},
		{ID: "3", Text: "Allow a call of files/write?"},
		{ID: "4", Text: "A prompt", Server: &console.ServerQuestion{Prompt: &console.Prompt{System: "Be brief", Texts: []string{"One", "Two"}}}},
		{ID: "5", Text: "An answer", Server: &console.ServerQuestion{Answers: true, Reply: "Paris"}},
	}}
}

func TestQuestionOfAServerHasAPageOfItsOwn(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-337a", "R-337b", "R-347b", "R-347c")
	asked := serverInbox()
	b := enter(t, newConsole(t, &source{inbox: asked}))
	inbox := b.get("inbox")
	for _, want := range []string{`inbox/questions/1"`, `inbox/questions/2"`, `action="` + b.path + `inbox/questions/3"`, "How long?"} {
		if !strings.Contains(inbox, want) {
			t.Errorf("got %s, want %s", inbox, want)
		}
	}
	if strings.Contains(inbox, `href="https://`) {
		t.Errorf("got %s, want no address as a link", inbox)
	}
	for page, wanted := range map[string][]string{
		"inbox/questions/1": {"asks you to fill in a form", "in a call of editor 1", "until 18:30:00 at the latest", `name="/nights"`, `name="/meal"`, `name="code"`, `value="decline"`, `value="cancel"`},
		"inbox/questions/2": {`<b class="host">pay.example</b>`, `href="https://pay.example/a?b=https://bank.example" target="_blank" rel="noopener noreferrer"`, "I am done there", `value="decline"`, `value="cancel"`},
		"inbox/questions/4": {">Be brief</textarea>", ">One</textarea>", ">Two</textarea>", "Send it to the model"},
		"inbox/questions/5": {">Paris</textarea>"},
	} {
		body := b.get(page)
		for _, want := range wanted {
			if !strings.Contains(body, want) {
				t.Errorf("%s: got %s, want %s", page, body, want)
			}
		}
		if got := strings.Count(body, `href="https://`); got > 1 || got == 1 && page != "inbox/questions/2" {
			t.Errorf("%s: got %d addresses as links, want that of the question alone", page, got)
		}
	}
}

func TestAnswerOfTheUserReachesTheServer(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-338c", "R-344b", "R-350")
	s := &source{inbox: serverInbox()}
	b := enter(t, newConsole(t, s))
	for _, post := range []struct {
		id, want string
		fields   []string
	}{
		{"1", `answer 1 {"action":"accept","content":{"nights":3,"meal":"soup"}} "123456"`, []string{"answer", "accept", "/nights", "3", "/meal", `"soup"`, "code", "123456"}},
		{"1", `answer 1 {"action":"decline"} ""`, []string{"answer", "decline", "/nights", "3"}},
		{"1", `answer 1 {"action":"cancel"} ""`, []string{"answer", "cancel", "/nights", "x"}},
		{"2", `answer 2 {"action":"accept"} ""`, []string{"answer", "accept"}},
		{"2", `answer 2 {"action":"cancel"} ""`, []string{"answer", "cancel"}},
		{"4", `answer 4 {"action":"accept","systemPrompt":"Be kind","texts":["One","2\n3"]} ""`, []string{"answer", "accept", "system", "Be kind", "text0", "One", "text1", "2\r\n3"}},
		{"4", `answer 4 {"action":"decline"} ""`, []string{"answer", "decline", "system", "Be kind"}},
		{"5", `answer 5 {"action":"accept","text":"Rome"} ""`, []string{"answer", "accept", "text", "Rome"}},
	} {
		s.did = nil
		response, body := b.post("inbox/questions/"+post.id, post.fields...)
		if response.StatusCode != http.StatusSeeOther || !slices.Equal(s.did, []string{post.want}) {
			t.Errorf("%q: got %d, %q, %s, want %s", post.fields, response.StatusCode, s.did, body, post.want)
		}
	}
	s.did = nil
	for _, fields := range [][]string{{"answer", "accept", "/nights", "three"}, {"answer", "perhaps", "/nights", "3"}, {"/nights", "3"}} {
		if response, body := b.post("inbox/questions/1", fields...); response.StatusCode != http.StatusConflict || s.did != nil || !strings.Contains(body, "Nothing was sent: ") {
			t.Errorf("%q: got %d, %q, %s, want nothing sent", fields, response.StatusCode, s.did, body)
		}
	}
	// What was written is still there when the code is wrong.
	s.failure = errors.New("want the code")
	if response, body := b.post("inbox/questions/1", "answer", "accept", "/nights", "3"); response.StatusCode != http.StatusConflict || !strings.Contains(body, `name="/nights" id="f/nights" value="3"`) {
		t.Errorf("got %d, %s, want the answer kept", response.StatusCode, body)
	}
	s.inbox = console.Inbox{}
	if response, body := b.post("inbox/questions/1", "answer", "accept"); response.StatusCode != http.StatusConflict || !strings.Contains(body, "want the code") {
		t.Errorf("got %d, %s, want that it no longer waits", response.StatusCode, body)
	}
}

func TestImagesAndSoundsOfAQuestionAreShownOnItsPage(t *testing.T) {
	t.Parallel()
	s := &source{inbox: console.Inbox{Questions: []console.Question{{
		ID: "7", Text: `The server "poet" asks for the answer of a model`, Server: &console.ServerQuestion{Answers: true}, Files: []console.File{
			{Name: "1 user", MIMEType: "image/png", Bytes: 3, Kept: true},
			{Name: "1 user", MIMEType: "audio/wav", Bytes: 3, Kept: true},
			{Name: "2 user", MIMEType: "image/svg+xml", Bytes: 3, Kept: true},
			{Name: "2 user", MIMEType: "image/png", Bytes: 9 << 20},
		},
	}}}}
	b := enter(t, newConsole(t, s))
	page, at := b.get("inbox/questions/7"), b.path+"inbox/questions/7/files/"
	for _, want := range []string{`<img src="` + at + `0" alt="Image: 1 user, image/png">`, `<audio controls preload="metadata" src="` + at + `1"`, `<a href="` + at + `2" download>`, "9.0 MiB that are not shown"} {
		if !strings.Contains(page, want) {
			t.Errorf("got %s, want %s", page, want)
		}
	}
	if strings.Contains(page, at+"3") {
		t.Errorf("got %s, want no link to what is not kept", page)
	}
	for n, want := range []string{"image/png", "audio/wav", "application/octet-stream"} {
		response, body := b.do(request(http.MethodGet, fmt.Sprint(at, n), nil))
		attached := strings.HasPrefix(response.Header.Get("Content-Disposition"), "attachment")
		if response.StatusCode != http.StatusOK || body != fmt.Sprint("7/", n) || response.Header.Get("Content-Type") != want || attached != (n == 2) ||
			response.Header.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(response.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("file %d: got %d, %q, %v, want it as %s", n, response.StatusCode, body, response.Header, want)
		}
	}
	for _, path := range []string{at + "3", at + "4", at + "-1", at + "x", b.path + "inbox/questions/8/files/0"} {
		if response, _ := b.do(request(http.MethodGet, path, nil)); response.StatusCode != http.StatusNotFound {
			t.Errorf("%s: got status %d, want 404", path, response.StatusCode)
		}
	}
	if response, _ := serve(b.console, request(http.MethodGet, at+"0", nil)); response.StatusCode == http.StatusOK {
		t.Error("got an image without the session")
	}
}

func TestSecretOfAFormIsMaskedOnThePage(t *testing.T) {
	t.Parallel()
	form := `{"type":"object","properties":{"a/b":{"type":"string","title":"Password"},"n":{"type":"integer","title":"PIN"},"town":{"type":"string"}}}`
	s := &source{inbox: console.Inbox{Questions: []console.Question{{ID: "1", Text: "A form", Server: &console.ServerQuestion{Form: []byte(form), Secrets: []string{"a/b", "n"}}}}}}
	page := enter(t, newConsole(t, s)).get("inbox/questions/1")
	for _, want := range []string{`<input type="password" name="/a~1b"`, `<input type="password" name="/n"`, `<textarea name="/town"`} {
		if !strings.Contains(page, want) {
			t.Errorf("got %s, want %s", page, want)
		}
	}
}

func TestFieldOfAFormSaysThatItsDefaultIsSentInPlaceOfNothing(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-337b")
	asked := serverInbox()
	asked.Questions[0].Server.Form = []byte(`{"type":"object","properties":{"to":{"type":"string","description":"Who gets it.","default":"everybody"},"meals":{"type":"array","items":{"enum":["soup","fish"]},"default":["soup"]},"why":{"type":"string"}}}`)
	body := enter(t, newConsole(t, &source{inbox: asked})).get("inbox/questions/1")
	const said = "If you leave it empty, the server gets this default."
	if strings.Count(body, said) != 2 || !strings.Contains(body, "Who gets it. "+said) {
		t.Errorf("got %s, want it said at the two fields with a default", body)
	}
}
