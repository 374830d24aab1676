// Confirm is a server whose tool asks its user before it deletes something.
package main

import (
	"context"
	"fmt"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Target is what to delete.
type Target struct {
	Album string `json:"album" doc:"name of a photo album"`
}

// Consent is the form that the user sees.
type Consent struct {
	Delete bool `json:"delete" title:"Delete all photos of this album" default:"false"`
}

func remove(ctx context.Context, in Target) (string, error) {
	consent, err := mcpserver.Ask[Consent](ctx, "consent", fmt.Sprintf("Delete the album %q for ever?", in.Album))
	if err != nil {
		return "", err
	}
	if !consent.Delete {
		return "Nothing was deleted.", nil
	}
	return fmt.Sprintf("The album %q is deleted.", in.Album), nil
}

func newServer() *mcpserver.Server {
	srv := mcpserver.New("confirm", "1.0.0", nil)
	srv.Tool("delete_album", "Deletes a photo album", remove)
	return srv
}

func main() { mcpserver.Main(newServer()) }
