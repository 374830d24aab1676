package consent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
)

const (
	// filePrefix begins the keys of files. Lists of questions do not read their section.
	filePrefix = "questionfiles/"
	// maxFiles limits the files of one question, maxFileBytes the bytes of one that is kept, and maxFilesBytes those of all.
	maxFiles      = 8
	maxFileBytes  = 512 << 10
	maxFilesBytes = 1 << 20
)

// File is an image or a sound of a question, which its details only name.
type File struct {
	// Name is that of the detail.
	Name     string `json:"name"`
	MIMEType string `json:"mimeType"`
	Bytes    int    `json:"bytes"`
	// Kept: Queue.File returns the content, which is not too large.
	Kept bool `json:"kept,omitzero"`

	data []byte // for Ask
}

// withoutFiles returns a question of a server without the data of its images and sounds, and these.
func withoutFiles(asked *host.ServerQuestion) (*host.ServerQuestion, []File) {
	var t fileTaker
	out := *asked
	if asked.Sampling != nil {
		p := *asked.Sampling
		p.Messages = slices.Clone(p.Messages)
		for i := range p.Messages {
			one := &p.Messages[i]
			one.Content = t.take(messageDetail(i, one), one.Content)
		}
		out.Sampling = &p
	}
	if asked.Reply != nil {
		reply := *asked.Reply
		reply.Content = t.take(DetailReply, reply.Content)
		out.Reply = &reply
	}
	return &out, t.files
}

// fileTaker takes the files of messages, within the limits.
type fileTaker struct {
	files []File
	bytes int // that are kept
}

// take returns contents without the data of images and sounds.
func (t *fileTaker) take(name string, contents mcp.Contents) mcp.Contents {
	contents = slices.Clone(contents)
	for i, content := range contents {
		switch c := content.(type) {
		case mcp.ImageContent:
			t.add(name, c.MIMEType, c.Data)
			c.Data = nil
			contents[i] = c
		case mcp.AudioContent:
			t.add(name, c.MIMEType, c.Data)
			c.Data = nil
			contents[i] = c
		case mcp.ToolResultContent:
			c.Content = t.take(name, c.Content)
			contents[i] = c
		}
	}
	return contents
}

func (t *fileTaker) add(name, mimeType string, data []byte) {
	if len(t.files) == maxFiles {
		return
	}
	f := File{Name: name, MIMEType: host.EscapeUnprintable(mimeType), Bytes: len(data)}
	if len(data) <= maxFileBytes && t.bytes+len(data) <= maxFilesBytes {
		f.Kept, f.data = true, data
		t.bytes += len(data)
	}
	t.files = append(t.files, f)
}

// File returns the content of a file of a question that waits. The error wraps ErrUnknown if there is none.
func (q *Queue) File(ctx context.Context, id string, n int) ([]byte, error) {
	asked, err := q.Get(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case n < 0 || n >= len(asked.Files) || !asked.Files[n].Kept:
		return nil, fmt.Errorf("file %d of question %s: %w", n, id, ErrUnknown)
	}
	data, found, err := q.store.Get(ctx, fileKey(id, n))
	if err == nil && !found {
		err = ErrUnknown
	}
	if err != nil {
		return nil, fmt.Errorf("file %d of question %s: %w", n, id, err)
	}
	return data, nil
}

// keepFiles stores the files of a question for as long as the question.
func (q *Queue) keepFiles(ctx context.Context, asked *Question, ttl time.Duration) error {
	for i, f := range asked.Files {
		if !f.Kept {
			continue
		}
		if err := q.store.Put(ctx, fileKey(asked.ID, i), f.data, ttl); err != nil {
			return fmt.Errorf("file %d of a question: %w", i, err)
		}
	}
	return nil
}

// withdraw removes a question with its files.
func (q *Queue) withdraw(ctx context.Context, asked *Question) error {
	for i, f := range asked.Files {
		if f.Kept {
			_ = q.store.Delete(ctx, fileKey(asked.ID, i)) // otherwise it expires
		}
	}
	return q.Withdraw(ctx, asked.ID)
}

// RemoveExpired removes the questions that can be answered no more, with their images and sounds, from a store that keeps
// expired entries: a host that was killed has not withdrawn its own. Those of hosts that run expire after their wait.
func (q *Queue) RemoveExpired(ctx context.Context) error {
	store, ok := q.store.(interface {
		RemoveExpired(ctx context.Context, section string) error
	})
	if !ok { // the store removes them by itself
		return nil
	}
	var failed error
	for _, prefix := range []string{filePrefix, questionPrefix} {
		section, _, _ := strings.Cut(prefix, "/")
		failed = errors.Join(failed, store.RemoveExpired(ctx, section))
	}
	if failed != nil {
		return fmt.Errorf("expired questions: %w", failed)
	}
	return nil
}

func fileKey(id string, n int) string {
	return fmt.Sprintf("%s%020d/%d", filePrefix, numberOf(id), n)
}
