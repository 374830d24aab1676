package console

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
)

const (
	// maxResultFiles limits the images, sounds and other files of the last result that a session keeps, and
	// maxResultBytes the bytes of all of them.
	maxResultFiles = 16
	maxResultBytes = 8 << 20
	// maxShownText limits a text of a result on a page, in bytes.
	maxShownText = 1 << 20
	// maxNodes limits the values of a JSON text that is shown as a tree, and maxTreeDepth how deep they are.
	maxNodes     = 2000
	maxTreeDepth = 32
	// maxLeaf limits the text of a value in a tree, in bytes. The text beside the tree has more.
	maxLeaf = 4 << 10
)

// resultView is what a request has returned.
type resultView struct {
	Failed bool
	Took   time.Duration
	Blocks []block
	// Revision is that of the client, and Server says in which one the server got the request; it may be empty.
	Revision mcp.Revision
	Server   string
	Commands commands
}

// newResult returns the result of a request that was begun at a time. It has no parts yet.
func (c *Console) newResult(ctx context.Context, r *Request, started time.Time) *resultView {
	v := &resultView{Took: time.Since(started), Revision: r.Revision}
	v.Commands = c.commandsFor(ctx, r)
	key := host.KeyOf(r.Prompt)
	if r.Tool != nil {
		key = host.KeyOf(r.Tool.Name)
	}
	for _, s := range c.source.Servers() {
		if s.Key == key && key != "" && !s.Revision.IsZero() {
			v.Server = fmt.Sprintf("got it in %s", s.Revision)
		}
	}
	return v
}

// block is a part of a result: a text, or a file.
type block struct {
	Title, Text string
	// Tree is the text as a tree, nil if it is not JSON.
	Tree *node
	// File is the path of a file in the session, and Kind is how the browser shows it: "image", "audio", or empty for
	// one that it can only save.
	File, Kind string
	// URI is the resource to which a link leads.
	URI string
}

// file is an image, a sound or another file that a server has sent.
type file struct {
	mediaType string // empty for one that a browser must not interpret
	data      []byte
}

// newFile returns a file. A browser shows it if that is safe.
func newFile(mediaType string, data []byte) file {
	if shownTypes[mediaType] == "" {
		mediaType = ""
	}
	return file{mediaType, data}
}

// serveFile serves a file, which a browser saves under a name if it does not show it.
func serveFile(w http.ResponseWriter, r *http.Request, name string, f file) {
	w.Header().Set("Content-Type", f.mediaType)
	if f.mediaType == "" {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename=%q`, name))
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.data)) // parts of a sound are asked for
}

// fileBlock shows a file at a path, or says how large it is if that is empty.
func fileBlock(title, mediaType string, bytes int, path string) block {
	if path == "" {
		return block{Title: cutText(title), Text: size(bytes) + " that are not shown"}
	}
	return block{Title: cutText(title), Text: size(bytes), Kind: shownTypes[mediaType], File: path}
}

// shownTypes are the media types that a browser shows, as what. No script can be in one of them.
var shownTypes = map[string]string{
	"image/png": "image", "image/jpeg": "image", "image/gif": "image", "image/webp": "image", "image/avif": "image",
	"audio/wav": "audio", "audio/x-wav": "audio", "audio/mpeg": "audio", "audio/mp3": "audio", "audio/ogg": "audio", "audio/webm": "audio", "audio/flac": "audio",
	"audio/mp4": "audio", "audio/aac": "audio",
}

// resultOf returns the parts of a result. The session keeps its files in place of those before.
func (c *Console) resultOf(s *session, contents []mcp.Content) []block {
	var blocks []block
	b := resultBuilder{path: s.path() + "file/", version: strconv.FormatInt(time.Now().UnixNano(), 36), left: maxResultBytes}
	for _, content := range contents {
		blocks = append(blocks, b.block(content))
	}
	c.mu.Lock()
	s.files = b.files
	c.mu.Unlock()
	return blocks
}

// resultBuilder makes the parts of a result.
type resultBuilder struct {
	path, version string // of the URLs of files
	files         []file
	left          int // bytes
}

func (b *resultBuilder) block(content mcp.Content) block {
	switch content := content.(type) {
	case mcp.TextContent:
		return textBlock("Text", content.Text)
	case mcp.ImageContent:
		return b.file(content.MIMEType, content.MIMEType, content.Data)
	case mcp.AudioContent:
		return b.file(content.MIMEType, content.MIMEType, content.Data)
	case mcp.ResourceLink:
		return block{Title: "Link to a resource", Text: cutText(content.Name), URI: content.URI}
	case mcp.EmbeddedResource:
		one := &content.Resource
		title := cutText(strings.TrimSpace(one.MIMEType + " " + one.URI))
		if one.IsBlob() {
			return b.file(title, one.MIMEType, one.Blob)
		}
		return textBlock(title, one.Text)
	}
	return block{Title: "Content of a kind that is not known"}
}

// file keeps a file, if there is room.
func (b *resultBuilder) file(title, mediaType string, data []byte) block {
	path := ""
	if len(data) <= b.left && len(b.files) < maxResultFiles {
		path = b.path + strconv.Itoa(len(b.files)) + "?" + b.version
		b.left -= len(data)
		b.files = append(b.files, newFile(mediaType, data))
	}
	return fileBlock(title, mediaType, len(data), path)
}

// textBlock is a text: as a tree and indented, if it is JSON.
func textBlock(title, text string) block {
	if raw := jsontext.Value(text); len(text) <= maxShownText && (raw.Kind() == '{' || raw.Kind() == '[') && raw.IsValid() {
		return block{Title: title, Text: indented(raw), Tree: newTree(raw)}
	}
	return block{Title: title, Text: cutText(text)}
}

func cutText(text string) string { return host.CutText(text, maxShownText) }

// indented returns JSON on several lines. It is as it was if it is not valid, or so deep that the spaces would take
// much more than the text.
func indented(raw jsontext.Value) string {
	text := raw.Clone()
	if isDeep(raw) || text.Indent(jsontext.WithIndent("  ")) != nil {
		return cutText(string(raw))
	}
	return cutText(string(text))
}

// isDeep reports whether a JSON text is deeper than a tree shows.
func isDeep(raw jsontext.Value) bool {
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	for {
		if _, err := d.ReadToken(); err != nil {
			return false
		}
		if d.StackDepth() > maxTreeDepth {
			return true
		}
	}
}

// resultFile serves a file of the last result of the session.
func (c *Console) resultFile(w http.ResponseWriter, r *http.Request, s *session) {
	n, err := strconv.Atoi(r.PathValue("n"))
	c.mu.Lock()
	var found *file
	if err == nil && n >= 0 && n < len(s.files) {
		found = &s.files[n]
	}
	c.mu.Unlock()
	if found == nil {
		http.NotFound(w, r)
		return
	}
	serveFile(w, r, fmt.Sprintf("result-%d", n+1), *found)
}

// node is a value of a JSON text: one of an object or an array has nodes.
type node struct {
	// Name is that of a member, or the index of an item. The root has none.
	Name string
	// Text is the value of a leaf, as JSON.
	Text  string
	Nodes []*node
	// Size says how many members or items there are; it is empty for a leaf.
	Size string
	// Open: the nodes are shown at first.
	Open bool
}

// newTree returns the tree of a JSON text, or nil if that is too large for one.
func newTree(raw jsontext.Value) *node {
	b := &treeBuilder{decoder: jsontext.NewDecoder(bytes.NewReader(raw))}
	root := b.value("", 0)
	if b.nodes > maxNodes || b.failed {
		return nil
	}
	return root
}

type treeBuilder struct {
	decoder *jsontext.Decoder
	nodes   int
	failed  bool
}

// value reads the next value.
func (b *treeBuilder) value(name string, depth int) *node {
	n := &node{Name: name, Open: depth < 2}
	kind := b.decoder.PeekKind()
	if b.nodes++; b.nodes > maxNodes || b.failed {
		return n
	}
	if kind != '{' && kind != '[' || depth == maxTreeDepth {
		raw, err := b.decoder.ReadValue()
		n.Text, b.failed = host.CutText(string(raw), maxLeaf), err != nil
		return n
	}
	_, _ = b.decoder.ReadToken() // it was peeked
	for next := b.decoder.PeekKind(); next != '}' && next != ']' && next != 0 && b.nodes <= maxNodes && !b.failed; next = b.decoder.PeekKind() {
		member := strconv.Itoa(len(n.Nodes))
		if kind == '{' {
			token, err := b.decoder.ReadToken()
			b.failed = err != nil
			member = token.String()
		}
		n.Nodes = append(n.Nodes, b.value(member, depth+1))
	}
	_, _ = b.decoder.ReadToken() // the end, of a text that is valid
	n.Size = plural(len(n.Nodes), "item")
	if kind == '{' {
		n.Size = plural(len(n.Nodes), "member")
	}
	return n
}

// plural is a number of things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// sameJSON reports whether a text has the value of a JSON text.
func sameJSON(text string, raw jsontext.Value) bool {
	a, b := jsontext.Value(text), raw.Clone()
	return slices.Equal(canonical(a), canonical(b))
}

func canonical(raw jsontext.Value) []byte {
	out := raw.Clone()
	if out.Canonicalize() != nil {
		return raw
	}
	return out
}
