//go:build !unix && !windows

package notify

// find returns nothing: no program is known here.
func find(func(string) (string, bool)) (program string, needs []string) { return "", nil }

func arguments(string, string) (args, variables []string) { return nil, nil }
