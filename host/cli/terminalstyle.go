package cli

// style is the style of a text on a terminal: the parameters of one SGR sequence.
//
// Spec: ECMA-48 8.3.117
type style string

const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
)

// paint gives text for Stdout a style, if Stdout is a terminal and the user allows
// colours. The text must be sanitized.
//
// Spec: https://no-color.org
func (m *Main) paint(s style, text string) string {
	unwanted, _ := m.getenv("NO_COLOR")
	kind, _ := m.getenv("TERM")
	if s == plain || text == "" || !m.Terminal || unwanted != "" || kind == "dumb" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}
