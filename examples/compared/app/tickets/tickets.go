// Package tickets is a client of a REST API for tickets.
package tickets

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// ErrNotFound is the error of a ticket that does not exist.
var ErrNotFound = errors.New("there is no such ticket")

// Ticket is a ticket.
type Ticket struct {
	ID    int    `json:"id"`
	Title string `json:"title"`
	State string `json:"state"`
}

// Client calls the API.
type Client struct{ Base, Token string }

// Get returns a ticket.
func (c *Client) Get(ctx context.Context, id int) (t Ticket, err error) {
	return t, c.do(ctx, http.MethodGet, "/tickets/"+strconv.Itoa(id), nil, &t)
}

// List returns at most limit tickets of a state.
func (c *Client) List(ctx context.Context, state string, limit int) (all []Ticket, err error) {
	query := url.Values{"state": {state}, "limit": {strconv.Itoa(limit)}}
	return all, c.do(ctx, http.MethodGet, "/tickets?"+query.Encode(), nil, &all)
}

// Create makes an open ticket.
func (c *Client) Create(ctx context.Context, title string) (t Ticket, err error) {
	return t, c.do(ctx, http.MethodPost, "/tickets", Ticket{Title: title}, &t)
}

func (c *Client) do(ctx context.Context, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, c.Base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+c.Token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK, http.StatusCreated:
		return json.UnmarshalRead(io.LimitReader(resp.Body, 1<<20), out)
	case http.StatusNotFound:
		return ErrNotFound
	}
	return fmt.Errorf("%s %s: %s", method, path, resp.Status)
}
