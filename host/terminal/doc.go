// Package terminal prints for a person and asks questions: data goes to standard output, messages and questions
// go to standard error. Text of a server reaches a terminal only without what the terminal would obey.
//
// An IO may be used by several goroutines: messages that are printed while a question is open stand above it.
package terminal
