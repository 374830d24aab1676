package console_test

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/console"
	"github.com/fondaco/fondaco/internal/claim"
)

// order is a schema with what is more than one value.
const order = `{"type": "object", "$defs": {"card": {"type": "object", "title": "Card", "required": ["kind"], "properties": {"kind": {"const": "card"}, "number": {"type": "string"}}}},
	"properties": {
		"pay": {"oneOf": [{"$ref": "#/$defs/card"}, {"title": "Voucher", "type": "object", "properties": {"code": {"type": "string"}}}, {"type": "boolean"}]},
		"lines": {"type": "array", "items": {"type": "object", "required": ["sku"], "properties": {"sku": {"type": "string"}, "tags": {"type": "array", "items": {"enum": ["new", "sale"]}}}}},
		"note": {"anyOf": [{"type": "string", "description": "for the driver"}, {"type": "null"}], "default": null},
		"count": {"allOf": [{"type": "integer", "minimum": 1, "maximum": 9}], "default": 3},
		"at": {"type": "string", "format": "date-time"},
		"photo": {"type": "string", "contentEncoding": "base64", "contentMediaType": "image/png"}, "logo": {"type": "string", "format": "data-url"},
		"home": {"type": "object", "properties": {"city": {"type": "string"}}, "default": {"city": "Turin"}}
	}, "anyOf": [{"required": ["note"]}, {"required": ["lines"]}]}`

// sent returns what the last call was sent.
func (s *source) sent() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.did) == 0 {
		return ""
	}
	arguments, _ := strings.CutPrefix(s.did[len(s.did)-1], "call air__book ")
	return arguments
}

func TestFormHasAlternativesListsAndDefaults(t *testing.T) {
	t.Parallel()
	s := tryHost(order)
	b := enter(t, newConsole(t, s))
	page := b.get(toolPage)
	for _, want := range []string{
		`type="radio" name="/pay~2" value="0"> Card`, `value="1"> Voucher`, `value="2"> boolean`, `value="" checked> nothing`,
		`<textarea name="/note"`, "for the driver", "From 1 to 9", `name="/count" id="f/count" value="3"`, "Such as 1985-04-12T23:20:50", ">Turin</textarea>",
		`type="file" name="/photo~4" id="f/photo" accept="image/png"`, `enctype="multipart/form-data"`, `formaction="#l%2flines"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("got %s, want %s", page, want)
		}
	}
	for fields, want := range map[string]string{
		"": `{}`,
		"/pay~2=0 /pay~20/kind=\"card\" /pay~20/number=42 /pay~21/code=x": `{"pay":{"kind":"card","number":"42"}}`,
		"/pay~2=1":              `{"pay":{}}`,
		"/pay~2=2 /pay~22=true": `{"pay":true}`,
		"/pay~2=7":              `{}`,
		"/lines~3=2 /lines/0/sku=a /lines/0/tags=\"new\" /lines/0/tags=\"sale\" /lines/1/sku=b": `{"lines":[{"sku":"a","tags":["new","sale"]},{"sku":"b"}]}`,
		"/note=hello": `{"note":"hello"}`,
		"/photo=aGk=": `{"photo":"aGk="}`,
	} {
		var pairs []string
		for pair := range strings.FieldsSeq(fields) {
			name, value, _ := strings.Cut(pair, "=")
			pairs = append(pairs, name, value)
		}
		if response, body := b.post(toolPage, pairs...); response.StatusCode != 200 || s.sent() != want {
			t.Errorf("%s: got %d, %s, want %s\n%s", fields, response.StatusCode, s.sent(), want, body)
		}
	}
	if response, body := b.post(toolPage, "/photo", "no base64!"); response.StatusCode != http.StatusConflict || !strings.Contains(body, "want a file, or base64") {
		t.Errorf("got %d, %s, want the text refused", response.StatusCode, body)
	}
}

func TestButtonsOfAListChangeItsLengthAndCallNothing(t *testing.T) {
	t.Parallel()
	s := tryHost(order)
	b := enter(t, newConsole(t, s))
	_, page := b.post(toolPage, "more", "/lines", "/lines~3", "1", "/lines/0/sku", "first", "/note", "kept")
	if !strings.Contains(page, `name="/lines~3" value="2"`) || !strings.Contains(page, `name="/lines/1/sku"`) || !strings.Contains(page, ">first</textarea>") || !strings.Contains(page, ">kept</textarea>") {
		t.Errorf("got %s, want one item more, and what was written", page)
	}
	_, page = b.post(toolPage, "fewer", "/lines", "/lines~3", "2", "/lines/0/sku", "first")
	if !strings.Contains(page, `name="/lines~3" value="1"`) || strings.Contains(page, `name="/lines/1/sku"`) {
		t.Errorf("got %s, want one item less", page)
	}
	if s.sent() != "" {
		t.Errorf("got %s, want nothing called", s.sent())
	}
	// A list and a form have a limit, and what does not fit changes nothing.
	_, page = b.post(toolPage, "more", "/lines", "/lines~3", fmt.Sprint(console.MaxItems))
	if !strings.Contains(page, fmt.Sprintf(`name="/lines~3" value="%d"`, console.MaxItems)) {
		t.Errorf("got %.300s, want no more than %d items", page, console.MaxItems)
	}
	claim.Limit(t, "items of a list of a form; alternatives of a field; a form with files; a file that the form has again after a call; arguments of a call that is shown as a command", console.MaxItems, console.MaxAlternatives, claim.Bytes(console.MaxFileForm), claim.Bytes(console.MaxEcho), claim.Bytes(console.MaxCommand))
	wide := `{"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object", "properties": {` + strings.TrimSuffix(strings.Repeat(`"%d": {"type": "string"},`, 60), ",") + `}}}}}`
	numbers := make([]any, 60)
	for i := range numbers {
		numbers[i] = i
	}
	b = enter(t, newConsole(t, tryHost(fmt.Sprintf(wide, numbers...))))
	_, page = b.post(toolPage, "more", "/a", "/a~3", "3")
	if !strings.Contains(page, "no item was added") || !strings.Contains(page, `name="/a~3" value="3"`) {
		t.Errorf("got %.2000s, want the form as it was", page)
	}
}

func TestFilesAreSentAsText(t *testing.T) {
	t.Parallel()
	s := tryHost(order)
	b := enter(t, newConsole(t, s))
	upload := func(name string, content []byte) (int, string) {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		_ = form.WriteField("token", b.token)
		part, err := form.CreateFormFile(name, "photo.png")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = part.Write(content)
		_, _ = form.CreateFormFile("/pay~4", "") // none was chosen
		_ = form.Close()
		r := request(http.MethodPost, b.path+toolPage, nil)
		r.Header.Set("Content-Type", form.FormDataContentType())
		r.Body, r.ContentLength = http.NoBody, 0
		r = r.WithContext(t.Context())
		r.Body = readCloser{&body}
		response, page := b.do(r)
		return response.StatusCode, page
	}
	if status, page := upload("/photo~4", []byte("hi")); status != 200 || s.sent() != `{"photo":"aGk="}` || !strings.Contains(page, ">aGk=</textarea>") {
		t.Errorf("got %d, %s, %s, want the file in base64", status, s.sent(), page)
	}
	if status, _ := upload("/logo~4", []byte("hi")); status != 200 || s.sent() != `{"logo":"data:application/octet-stream;base64,aGk="}` {
		t.Errorf("got %d, %s, want a data URL", status, s.sent())
	}
	if status, page := upload("/photo~4", make([]byte, console.MaxEcho)); status != 200 || len(page) > console.MaxEcho || !strings.Contains(page, "choose the file again") {
		t.Errorf("got %d, %d bytes, want the file not in the page", status, len(page))
	}
	s.did = nil
	if status, _ := upload("/photo~4", make([]byte, console.MaxFileForm+1)); status != http.StatusForbidden || s.sent() != "" {
		t.Errorf("got %d, want a form that is too long refused", status)
	}
}

type readCloser struct{ *bytes.Buffer }

func (readCloser) Close() error { return nil }
