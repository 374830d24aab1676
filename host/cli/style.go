package cli

// style is how a word looks on a terminal: the parameters of one SGR sequence.
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

// paint gives text that goes to Stdout a style, where there is a terminal that
// shows it and a user who wants it. The text has to be clean.
//
// Spec: https://no-color.org
func (m *Main) paint(s style, text string) string {
	unwanted, _ := m.lookup("NO_COLOR")
	kind, _ := m.lookup("TERM")
	if s == plain || text == "" || !m.Terminal || unwanted != "" || kind == "dumb" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}
