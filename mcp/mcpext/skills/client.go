package skills

import (
	"context"
	"crypto/sha256"
	"encoding/json/v2"
	"errors"
	"fmt"
	"iter"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// Client returns the extension for mcpclient.Options.Extensions.
func Client() mcpclient.Extension { return mcpclient.Extension{ID: ID, Sessions: true} }

// ErrNotOffered means that the server does not declare the requested
// capability.
var ErrNotOffered = errors.New("the server does not offer it")

// maxPages is the maximum number of pages of one list, against a server that
// never ends it.
const maxPages = 10_000

// List iterates over the skills that the server lists, and requests each page when the
// loop reaches it. It reads none of their files. There are none if the server does not
// have the extension. A server may serve more skills than it lists, see Get. Entries are
// not checked: Skill.Check and Load return an error for invalid ones. An error is yielded
// once, as the last value.
func List(ctx context.Context, c *mcpclient.Client) iter.Seq2[*Skill, error] {
	return func(yield func(*Skill, error) bool) {
		if _, ok := c.HasExtension(ID); !ok {
			return
		}
		pages(func(cursor *string) ([]*Skill, *string, error) {
			var page listResult
			err := c.Request(ctx, MethodList, &mcp.ListParams{Cursor: cursor}, &page)
			return page.Skills, page.NextCursor, err
		})(yield)
	}
}

// Get returns the entry of one skill, which need not be listed, by the URI of
// its SKILL.md. Use it to get a new entry when files no longer match the old
// one.
func Get(ctx context.Context, c *mcpclient.Client, uri string) (*Skill, error) {
	if _, ok := c.HasExtension(ID); !ok {
		return nil, fmt.Errorf("skill %q: %w", uri, ErrNotOffered)
	}
	var result getResult
	if err := c.Request(ctx, MethodGet, &getParams{URI: uri}, &result); err != nil {
		return nil, fmt.Errorf("skill %q: %w", uri, err)
	}
	if result.Skill == nil || result.Skill.URI != uri {
		return nil, fmt.Errorf("skill %q: the server returned the entry of another skill", uri)
	}
	return result.Skill, nil
}

// Directory iterates over the files and directories that are directly in a directory, such
// as skill://pdf-processing/templates, and requests each page when the loop reaches it. It
// lists what the server has now; ReadFile still reads only files of the entry. If the
// server does not support it, the error is ErrNotOffered.
func Directory(ctx context.Context, c *mcpclient.Client, uri string) iter.Seq2[mcp.Resource, error] {
	return func(yield func(mcp.Resource, error) bool) {
		if !readsDirectories(c) {
			yield(mcp.Resource{}, fmt.Errorf("directory %q: %w", uri, ErrNotOffered))
			return
		}
		pages(func(cursor *string) ([]mcp.Resource, *string, error) {
			var page directoryResult
			err := c.Request(ctx, MethodDirectoryRead, &directoryParams{URI: uri, Cursor: cursor}, &page)
			return page.Resources, page.NextCursor, err
		})(yield)
	}
}

func readsDirectories(c *mcpclient.Client) bool {
	settings, ok := c.HasExtension(ID)
	var s struct {
		DirectoryRead bool `json:"directoryRead"`
	}
	return ok && json.Unmarshal(settings, &s) == nil && s.DirectoryRead
}

// pages returns the items of all pages.
func pages[Item any](page func(cursor *string) ([]Item, *string, error)) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		var none Item
		var cursor *string
		seen := make(map[[sha256.Size]byte]bool) // cursors, which may be long
		for range maxPages {
			items, next, err := page(cursor)
			if err != nil {
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if next == nil {
				return
			}
			key := sha256.Sum256([]byte(*next))
			if seen[key] {
				break
			}
			seen[key], cursor = true, next
		}
		yield(none, errors.New("the list does not end"))
	}
}
