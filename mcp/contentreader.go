package mcp

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"path"
	"strings"
	"unicode/utf8"
)

// DefaultMaxRead is the number of bytes that ReadImage, ReadAudio, ReadResourceContents and
// ReadFile accept by default: 8 MiB. As base64 they fit the largest result that servers of this
// module send by default, 16 MiB.
const DefaultMaxRead = 8 << 20

// ReadOption is an option of the functions that make contents from a reader.
type ReadOption func(*readOptions)

type readOptions struct{ max int64 }

// MaxRead sets the largest number of bytes that is accepted. It must be at least 1; the
// default is DefaultMaxRead.
func MaxRead(n int64) ReadOption {
	if n < 1 {
		panic(fmt.Sprintf("mcp.MaxRead(%d): want at least 1", n))
	}
	return func(o *readOptions) { o.max = n }
}

// ReadImage reads an image to the end of r. An empty mimeType is detected from the bytes:
// PNG, JPEG, GIF, WebP, AVIF and BMP are known; others are an error. It reads at most one
// byte more than the limit, see MaxRead, and does not close r.
func ReadImage(r io.Reader, mimeType string, opts ...ReadOption) (ImageContent, error) {
	data, mimeType, err := readMedia(r, "image", mimeType, opts)
	if err != nil {
		return ImageContent{}, fmt.Errorf("read image: %w", err)
	}
	return Image(data, mimeType), nil
}

// ReadAudio reads an audio clip to the end of r. An empty mimeType is detected from the
// bytes: WAV, MP3 (with an ID3 tag or a frame at its start), Ogg, FLAC, AIFF and MIDI are
// known; others are an error. It reads at most one byte more than the limit, see MaxRead,
// and does not close r.
func ReadAudio(r io.Reader, mimeType string, opts ...ReadOption) (AudioContent, error) {
	data, mimeType, err := readMedia(r, "audio", mimeType, opts)
	if err != nil {
		return AudioContent{}, fmt.Errorf("read audio: %w", err)
	}
	return Audio(data, mimeType), nil
}

// ReadResourceContents reads the contents of a resource to the end of r. They are a text or
// bytes as NewResourceContents says. An empty mimeType is detected from the bytes: the types
// of ReadImage and ReadAudio, PDF, ZIP and gzip; otherwise it is text/plain if the bytes are
// UTF-8 without NUL, or application/octet-stream. It reads at most one byte more than the
// limit, see MaxRead, and does not close r.
func ReadResourceContents(uri, mimeType string, r io.Reader, opts ...ReadOption) (ResourceContents, error) {
	data, err := readLimited(r, opts)
	if err != nil {
		return ResourceContents{}, fmt.Errorf("read resource %q: %w", uri, err)
	}
	return NewResourceContents(uri, cmp.Or(mimeType, detectType(data)), data), nil
}

// ReadFile reads a file as the contents of a resource. The MIME type is that of the
// extension of its name in package mime, which depends on the system; if there is none, it is
// detected as ReadResourceContents says. It fails if the file has more bytes than the limit,
// see MaxRead.
func ReadFile(uri string, fsys fs.FS, name string, opts ...ReadOption) (ResourceContents, error) {
	file, err := fsys.Open(name)
	if err != nil {
		return ResourceContents{}, fmt.Errorf("read resource %q: %w", uri, err)
	}
	defer file.Close()
	mimeType, _, _ := strings.Cut(mime.TypeByExtension(strings.ToLower(path.Ext(name))), ";")
	return ReadResourceContents(uri, mimeType, file, opts...)
}

// readMedia reads the bytes of an image or audio clip and detects a MIME type that is empty.
func readMedia(r io.Reader, kind, mimeType string, opts []ReadOption) ([]byte, string, error) {
	data, err := readLimited(r, opts)
	if err != nil {
		return nil, "", err
	}
	if mimeType != "" {
		return data, mimeType, nil
	}
	found := detectType(data)
	if !strings.HasPrefix(found, kind+"/") {
		return nil, "", fmt.Errorf("no MIME type is given, and the bytes look like %s, want %s: give the MIME type", found, kind)
	}
	return data, found, nil
}

// readLimited reads to the end of r and fails if there is more than the limit.
func readLimited(r io.Reader, opts []ReadOption) ([]byte, error) {
	o := readOptions{max: DefaultMaxRead}
	for _, opt := range opts {
		opt(&o)
	}
	data, err := io.ReadAll(io.LimitReader(r, o.max))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) < o.max {
		return data, nil
	}
	// The limit is reached: one more byte is too much.
	var more [1]byte
	n, err := io.ReadFull(r, more[:])
	if n > 0 {
		return nil, fmt.Errorf("has more than %d bytes, which is the limit; see MaxRead", o.max)
	}
	if err != io.EOF {
		return nil, err
	}
	return data, nil
}

// signature tells a MIME type by bytes at the start and, for containers, bytes at an offset.
type signature struct {
	start    string
	at       int
	inside   string
	mimeType string
}

var signatures = []signature{
	{start: "\x89PNG\r\n\x1a\n", mimeType: "image/png"},
	{start: "\xff\xd8\xff", mimeType: "image/jpeg"},
	{start: "GIF87a", mimeType: "image/gif"},
	{start: "GIF89a", mimeType: "image/gif"},
	{start: "RIFF", at: 8, inside: "WEBPVP", mimeType: "image/webp"},
	{at: 4, inside: "ftypavif", mimeType: "image/avif"},
	{start: "BM", at: 6, inside: "\x00\x00\x00\x00", mimeType: "image/bmp"},
	{start: "RIFF", at: 8, inside: "WAVE", mimeType: "audio/wav"},
	{start: "ID3", mimeType: "audio/mpeg"},
	{start: "\xff\xfb", mimeType: "audio/mpeg"},
	{start: "\xff\xf3", mimeType: "audio/mpeg"},
	{start: "\xff\xf2", mimeType: "audio/mpeg"},
	{start: "OggS\x00", mimeType: "audio/ogg"},
	{start: "fLaC", mimeType: "audio/flac"},
	{start: "FORM", at: 8, inside: "AIFF", mimeType: "audio/aiff"},
	{start: "MThd\x00\x00\x00\x06", mimeType: "audio/midi"},
	{start: "%PDF-", mimeType: "application/pdf"},
	{start: "PK\x03\x04", mimeType: "application/zip"},
	{start: "\x1f\x8b\x08", mimeType: "application/gzip"},
}

// detectType returns the MIME type of data.
func detectType(data []byte) string {
	for _, s := range signatures {
		if bytes.HasPrefix(data, []byte(s.start)) && len(data) >= s.at && bytes.HasPrefix(data[s.at:], []byte(s.inside)) {
			return s.mimeType
		}
	}
	if utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 {
		return "text/plain"
	}
	return "application/octet-stream"
}
