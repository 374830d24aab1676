package main

import (
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

func TestNothingIsDeletedWithoutConsent(t *testing.T) {
	for answer, want := range map[any]string{
		Consent{true}:     `The album "2019" is deleted.`,
		Consent{false}:    "Nothing was deleted.",
		mcp.ElicitDecline: `tool failed: ask "consent": the user declined`,
	} {
		mcptest.CheckReplay(t, func() mcpclient.Server { return newServer() }, func(c *mcpclient.Client) (any, error) {
			mcptest.Answer(c, "consent", answer)
			got, err := c.Call[string](t.Context(), "delete_album", Target{"2019"})
			if err != nil {
				got = err.Error()[len(`call "delete_album": `):]
			}
			if got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			return got, nil
		})
	}
}
