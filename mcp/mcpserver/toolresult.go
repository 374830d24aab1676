package mcpserver

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"mime"
	"reflect"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/schema"
)

// badResult is the error of a result that cannot be sent. It is a mistake of the author of
// the server, so the error is logged and not sent to the model.
type badResult struct{ err error }

func (e *badResult) Error() string { return e.err.Error() }
func (e *badResult) Unwrap() error { return e.err }

var (
	contentType  = reflect.TypeFor[mcp.Content]()
	contentsType = reflect.TypeFor[mcp.Contents]()
	resultType   = reflect.TypeFor[mcp.Result]()
)

// resultEncoderOf returns the function that makes a result of values of type t, and their
// schema when they are structured content. It is called once for each tool.
func resultEncoderOf(t reflect.Type, opts []schema.Option) (shape func(any) (mcp.Result, error), out jsontext.Value, err error) {
	switch {
	case t.Implements(resultType):
		return resultAsIs, nil, nil
	case t.ConvertibleTo(contentsType), t.Implements(contentType):
		return contentResult, nil, nil
	case t.Kind() == reflect.String:
		return textResult, nil, nil
	case t.Kind() == reflect.Interface:
		return func(v any) (mcp.Result, error) { return anyResult(v, opts) }, nil, nil
	}
	out, err = schema.ForType(t, schema.Output, opts...)
	return structuredResult, out, err
}

func resultAsIs(v any) (mcp.Result, error) {
	r := v.(mcp.Result)
	return r, checkNotNil(r)
}

// checkNotNil returns an error for a nil result.
func checkNotNil(r mcp.Result) error {
	if r == nil {
		return &badResult{errors.New("the handler returned nil; want a result, or an error")}
	}
	return checkPointer(r)
}

// checkPointer returns an error for a nil pointer, which is no result.
func checkPointer(v any) error {
	if p := reflect.ValueOf(v); p.Kind() == reflect.Pointer && p.IsNil() {
		return &badResult{fmt.Errorf("the handler returned a nil %T; want a result, or an error", v)}
	}
	return nil
}

// checkMeta returns an error for metadata of a result with a key that clients would not get.
func checkMeta(meta mcp.Meta) error {
	for key := range meta {
		if err := mcp.CheckMetaKey(key); err != nil {
			return err
		}
	}
	return nil
}

func contentResult(v any) (mcp.Result, error) {
	if v == nil {
		return nil, &badResult{errors.New("the handler returned a nil mcp.Content; want content, or an error")}
	}
	if c, ok := v.(mcp.Content); ok {
		return &mcp.CallToolResult{Content: mcp.Contents{c}}, nil
	}
	contents := reflect.ValueOf(v).Convert(contentsType).Interface().(mcp.Contents)
	return &mcp.CallToolResult{Content: contents}, nil
}

func textResult(v any) (mcp.Result, error) {
	return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text(reflect.ValueOf(v).String())}}, nil
}

// structuredResult sends the value as structured content. Its text is added later.
func structuredResult(v any) (mcp.Result, error) {
	if err := checkPointer(v); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return nil, &badResult{fmt.Errorf("encode result: %w", err)}
	}
	return &mcp.CallToolResult{StructuredContent: raw}, nil
}

// anyResult returns the result for a value whose type is known only at run time.
func anyResult(v any, opts []schema.Option) (mcp.Result, error) {
	if v == nil {
		return &mcp.CallToolResult{}, nil
	}
	shape, _, err := resultEncoderOf(reflect.TypeOf(v), opts)
	if err != nil {
		return nil, &badResult{err}
	}
	return shape(v)
}

// withText adds the structured content of a result as text, unless the author has
// supplied text.
//
// Spec: 2026-07-28 server/tools#structured-content
func withText(r mcp.Result) mcp.Result {
	result, ok := r.(*mcp.CallToolResult)
	if !ok || len(result.StructuredContent) == 0 || slices.ContainsFunc(result.Content, isTextContent) {
		return r
	}
	out := *result
	out.Content = append(slices.Clip(result.Content), mcp.Text(string(result.StructuredContent)))
	return &out
}

// withoutFailedOutput removes the structured content of a failed result that has text, if the tool has
// an output schema and the request is of the session era. Client libraries of that era validate the
// content of failed results, too, and report a mismatch instead of the text that says what has failed.
func (t *tool) withoutFailedOutput(r *Request, result mcp.Result) mcp.Result {
	failed, ok := result.(*mcp.CallToolResult)
	if !ok || !failed.IsError || len(failed.StructuredContent) == 0 || len(t.def.OutputSchema) == 0 || r.call.Facts.Era != dialect.SessionEra {
		return result
	}
	out := *failed
	out.StructuredContent = nil
	return &out
}

func isTextContent(c mcp.Content) bool {
	_, ok := c.(mcp.TextContent)
	return ok
}

// checkContent returns an error for a content block that clients cannot read.
func checkContent(c mcp.Content) error {
	switch c := c.(type) {
	case nil:
		return errors.New("is nil")
	case mcp.ImageContent:
		return checkMIME(c.MIMEType, "image/")
	case mcp.AudioContent:
		return checkMIME(c.MIMEType, "audio/")
	case mcp.ResourceLink:
		if c.URI == "" || c.Name == "" {
			return errors.New("resource link: want a URI and a name")
		}
	case mcp.EmbeddedResource:
		return checkContents(c.Resource)
	}
	return nil
}

func checkMIME(mimeType, prefix string) error {
	parsed, _, err := mime.ParseMediaType(mimeType)
	if err != nil || !strings.HasPrefix(parsed, prefix) {
		return fmt.Errorf("MIME type %q: want one such as %spng or %swav", mimeType, "image/", "audio/")
	}
	return nil
}

// checkContents returns an error for contents of a resource that are not valid.
func checkContents(c mcp.ResourceContents) error {
	if c.URI == "" {
		return errors.New("resource contents: want a URI")
	}
	if c.MIMEType != "" && !validMIME(c.MIMEType) {
		return fmt.Errorf("resource contents %q: MIME type %q: want one such as text/plain, or none", c.URI, c.MIMEType)
	}
	return nil
}

// validMIME reports whether a text is a type and a subtype, with or without
// parameters. mime.ParseMediaType alone also accepts a single word.
func validMIME(mimeType string) bool {
	parsed, _, err := mime.ParseMediaType(mimeType)
	return err == nil && strings.Contains(parsed, "/")
}
