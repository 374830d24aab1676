package userfile_test

import (
	"testing"

	"github.com/fondaco/fondaco/host/userfile"
)

func TestTextHasNoByteOrderMark(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"":                   "",
		"a":                  "a",
		"\ufeffA=1\n":        "A=1\n",
		"\ufeff\ufeffA=1\n":  "\ufeffA=1\n", // the second one is text
		"A=\xffnot Unicode":  "A=\xffnot Unicode",
		"A=\x00 in the text": "A=\x00 in the text",
	} {
		if got, err := userfile.Text([]byte(content)); string(got) != want || err != nil {
			t.Errorf("%q: got %q, %v, want %q", content, got, err, want)
		}
	}
	for _, content := range []string{"\xff\xfeA\x00", "\xfe\xff\x00A", "A\x00=\x00", "\x00A\x00="} {
		if got, err := userfile.Text([]byte(content)); err == nil || err.Error() != "found text in UTF-16, want UTF-8: save the file in that encoding" {
			t.Errorf("%q: got %q, %v, want the error that names UTF-16", content, got, err)
		}
	}
}
