package cli

import (
	"context"
	"flag"

	"github.com/fondaco/fondaco/mcp/mcpreplay"
)

var diffEntry = commandInfo{
	name: "diff", operands: "FILE FILE", does: "compare two recorded sessions",
	about: `It compares what was asked for in both recordings, and how it was answered, in
whichever revision. The exit code is 7 if they differ. Ids, cursors, times, and
what a recording has as redacted are not compared.`,
	example: "diff before.jsonl after.jsonl",
	make:    func() command { return new(diffCommand) },
}

type diffCommand struct {
	output
	comparison
}

func (v *diffCommand) declare(f *flag.FlagSet) {
	v.output.declare(f)
	v.comparison.declare(f)
}

func (v *diffCommand) run(_ context.Context, m *Main, operands []string) error {
	if len(operands) != 2 {
		return usagef("found %d operands, want two recordings", len(operands))
	}
	a, err := readRecording(operands[0])
	if err != nil {
		return err
	}
	b, err := readRecording(operands[1])
	if err != nil {
		return err
	}
	report := mcpreplay.Compare(a, b, &mcpreplay.Options{Ignore: v.ignored})
	return m.writeReport(report, v.json, "the recordings differ", "the recordings have the same answers")
}
