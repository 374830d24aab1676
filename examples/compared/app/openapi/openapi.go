// Package openapi reads the operations of an OpenAPI document and calls them.
package openapi

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
)

// Operation is an operation with parameters in the path and query.
type Operation struct {
	ID         string      `json:"operationId"`
	Summary    string      `json:"summary"`
	Parameters []parameter `json:"parameters"`
	base, path string
}

type parameter struct {
	Name     string         `json:"name"`
	In       string         `json:"in"`
	Required bool           `json:"required"`
	Schema   jsontext.Value `json:"schema"`
}

// Read returns the GET operations of a document, sorted by their ids.
func Read(file, base string) (all []*Operation, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Paths map[string]map[string]*Operation `json:"paths"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	for path, methods := range doc.Paths {
		if op := methods["get"]; op != nil {
			op.base, op.path = base, path
			all = append(all, op)
		}
	}
	slices.SortFunc(all, func(a, b *Operation) int { return strings.Compare(a.ID, b.ID) })
	return all, nil
}

// InputSchema returns the JSON Schema of the arguments.
func (op *Operation) InputSchema() []byte {
	properties, required := map[string]jsontext.Value{}, []string{}
	for _, p := range op.Parameters {
		properties[p.Name] = p.Schema
		if p.Required {
			required = append(required, p.Name)
		}
	}
	s, err := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false})
	if err != nil {
		panic(err) // the schemas have been read as JSON
	}
	return s
}

// Do sends the request of an operation and returns the body of the response.
func (op *Operation) Do(ctx context.Context, arguments []byte) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var values map[string]any
	if err := json.Unmarshal(arguments, &values); err != nil {
		return "", err
	}
	path, query := op.path, url.Values{}
	for _, p := range op.Parameters {
		v, ok := values[p.Name]
		switch {
		case ok && p.In == "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(fmt.Sprint(v)))
		case ok:
			query.Set(p.Name, fmt.Sprint(v))
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, op.base+path+"?"+query.Encode(), nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, body)
	}
	return string(body), err
}
