package mcpserver

// UncheckedArguments is the option that passes a request for a prompt to its handler also when
// an argument that is required is missing. It is for handlers that check the arguments
// themselves, such as those of a proxy. Prompts of a Go type are still checked when their
// arguments are decoded.
func UncheckedArguments() PromptOption { return uncheckedArguments{} }

type uncheckedArguments struct{}

func (uncheckedArguments) prompt(p *prompt) { p.unchecked = true }
