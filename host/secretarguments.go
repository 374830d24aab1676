package host

import "strings"

// SecretArguments returns the flags among arguments that have the name of a secret, and their
// values.
func SecretArguments(args []string) (flags, values []string) {
	for i, arg := range args {
		name, value, assigned := strings.Cut(arg, "=")
		if !strings.HasPrefix(name, "-") || !IsSecretName(strings.TrimLeft(name, "-")) {
			continue
		}
		if !assigned && i+1 < len(args) {
			value = args[i+1]
		}
		if value != "" {
			flags, values = append(flags, name), append(values, value)
		}
	}
	return flags, values
}
