package mcp_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"github.com/fondaco/fondaco/mcp"
)

const png = "\x89PNG\r\n\x1a\n…"

func TestContentsAreReadWithADetectedType(t *testing.T) {
	t.Parallel()
	tests := []struct{ data, image, audio, resource string }{
		{png, "image/png", "", "image/png"},
		{"\xff\xd8\xff\xe0", "image/jpeg", "", "image/jpeg"},
		{"GIF89a", "image/gif", "", "image/gif"},
		{"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp", "", "image/webp"},
		{"RIFF\x00\x00\x00\x00WAVEfmt ", "", "audio/wav", "audio/wav"},
		{"ID3\x04", "", "audio/mpeg", "audio/mpeg"},
		{"OggS\x00", "", "audio/ogg", "audio/ogg"},
		{"fLaC", "", "audio/flac", "audio/flac"},
		{"%PDF-1.7", "", "", "application/pdf"},
		{"hello", "", "", "text/plain"},
		{"", "", "", "text/plain"},
		{"RIFF", "", "", "text/plain"},
		{"a\x00b", "", "", "application/octet-stream"},
		{"\xff\xfe", "", "", "application/octet-stream"},
	}
	for _, tt := range tests {
		image, err := mcp.ReadImage(strings.NewReader(tt.data), "")
		if image.MIMEType != tt.image || (err == nil) != (tt.image != "") {
			t.Errorf("ReadImage(%q): got type %q, error %v, want %q", tt.data, image.MIMEType, err, tt.image)
		}
		audio, err := mcp.ReadAudio(strings.NewReader(tt.data), "")
		if audio.MIMEType != tt.audio || (err == nil) != (tt.audio != "") {
			t.Errorf("ReadAudio(%q): got type %q, error %v, want %q", tt.data, audio.MIMEType, err, tt.audio)
		}
		contents, err := mcp.ReadResourceContents("file:///a", "", strings.NewReader(tt.data))
		if err != nil || contents.MIMEType != tt.resource || contents.Text+string(contents.Blob) != tt.data {
			t.Errorf("ReadResourceContents(%q): got %+v, error %v, want type %q", tt.data, contents, err, tt.resource)
		}
	}
}

func TestAGivenTypeIsKept(t *testing.T) {
	t.Parallel()
	image, err := mcp.ReadImage(strings.NewReader("<svg/>"), "image/svg+xml")
	if err != nil || image.MIMEType != "image/svg+xml" || string(image.Data) != "<svg/>" {
		t.Errorf("got %+v, error %v, want the bytes with the type that was given", image, err)
	}
	if _, err := mcp.ReadImage(strings.NewReader("hello"), ""); err == nil ||
		err.Error() != "read image: no MIME type is given, and the bytes look like text/plain, want image: give the MIME type" {
		t.Errorf("got error %v, want one that says what was found", err)
	}
}

func TestContentsAreReadUpToTheLimit(t *testing.T) {
	t.Parallel()
	counted := &countingReader{}
	if _, err := mcp.ReadResourceContents("a:b", "", counted, mcp.MaxRead(10)); err == nil ||
		err.Error() != `read resource "a:b": has more than 10 bytes, which is the limit; see MaxRead` {
		t.Errorf("got error %v, want the limit", err)
	}
	if counted.n != 11 {
		t.Errorf("got %d bytes read, want one more than the limit", counted.n)
	}
	contents, err := mcp.ReadResourceContents("a:b", "", strings.NewReader("0123456789"), mcp.MaxRead(10))
	if err != nil || contents.Text != "0123456789" {
		t.Errorf("got %+v, error %v, want as many bytes as the limit", contents, err)
	}
	if _, err := mcp.ReadImage(&countingReader{}, "image/png"); err == nil || !strings.Contains(err.Error(), fmt.Sprint(mcp.DefaultMaxRead)) {
		t.Errorf("got error %v, want a limit by default", err)
	}
	broken := errors.New("broken")
	if _, err := mcp.ReadAudio(io.MultiReader(strings.NewReader("0123456789"), iotest.ErrReader(broken)), "audio/wav", mcp.MaxRead(10)); !errors.Is(err, broken) {
		t.Errorf("got error %v, want that of the reader", err)
	}
}

// countingReader yields text without end and counts it.
type countingReader struct{ n int }

func (r *countingReader) Read(p []byte) (int, error) {
	r.n += len(p)
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

func TestAFileIsReadWithTheTypeOfItsName(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{"a.HTML": {Data: []byte("<p>")}, "b": {Data: []byte(png)}}
	for name, want := range map[string]string{"a.HTML": "text/html", "b": "image/png"} {
		contents, err := mcp.ReadFile("file:///"+name, fsys, name)
		if err != nil || contents.MIMEType != want || contents.URI != "file:///"+name {
			t.Errorf("%s: got %+v, error %v, want type %s", name, contents, err, want)
		}
	}
	if _, err := mcp.ReadFile("file:///b", fsys, "b", mcp.MaxRead(3)); err == nil {
		t.Error("got a file with more bytes than the limit")
	}
	if _, err := mcp.ReadFile("file:///c", fsys, "c"); err == nil || !strings.HasPrefix(err.Error(), `read resource "file:///c": open c`) {
		t.Errorf("got error %v, want the operation and the cause", err)
	}
}

func ExampleReadImage() {
	image, err := mcp.ReadImage(strings.NewReader("GIF89a…"), "", mcp.MaxRead(1<<20))
	fmt.Println(image.MIMEType, len(image.Data), err)
	_, err = mcp.ReadImage(strings.NewReader("<html>"), "")
	fmt.Println(err)
	// Output:
	// image/gif 9 <nil>
	// read image: no MIME type is given, and the bytes look like text/plain, want image: give the MIME type
}
