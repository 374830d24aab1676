package compared_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func useMount(t *testing.T, file string) []string {
	c := connect(t, mcpclient.Command(file), nil)
	return []string{
		tools(t, c),
		call(t, c, "calendar__next", nil),
		call(t, c, "weather__next", object{"place": "Oslo"}),
		call(t, c, "weather__next", object{}),
		resources(t, c),
		read(t, c, "calendar://today"),
		read(t, c, "calendar://tomorrow"),
	}
}

var wantMount = []string{
	"calendar__next weather__next", "Lunch with Ada", "Rain in Oslo", "failed",
	"calendar://today today,", "Lunch", "error",
}

// tools returns the names of all tools, sorted.
func tools(t *testing.T, c *mcpclient.Client) string {
	t.Helper()
	var names []string
	for tool, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}
