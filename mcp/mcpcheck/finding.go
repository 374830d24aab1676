package mcpcheck

import "fmt"

// Rule names what Lint looks for. Rules do not change between versions; docs/check.md explains each.
type Rule string

// The rules.
const (
	RuleName               Rule = "name"                // the name of a tool has characters that the specification does not allow
	RuleDuplicate          Rule = "duplicate"           // two features of a kind have one name or URI
	RuleSimilarNames       Rule = "similar-names"       // names differ only in case and in the characters between words
	RuleSchema             Rule = "schema"              // a schema is not valid, or not one for an object
	RuleModel              Rule = "model"               // a model API refuses the tool as it is
	RuleModelIgnored       Rule = "model-ignored"       // a model API ignores a part of the schema
	RuleDescription        Rule = "description"         // a description is missing
	RuleDescriptionLength  Rule = "description-length"  // a description is so long that clients cut it
	RuleParameter          Rule = "parameter"           // the description of a parameter is missing
	RuleAnnotations        Rule = "annotations"         // annotations contradict each other or the name
	RuleAnnotationsMissing Rule = "annotations-missing" // there are none, so that clients have to expect the worst
	RuleSize               Rule = "size"                // the definitions take much of the context of a model
	RuleHiddenText         Rule = "hidden-text"         // a text has characters that nobody sees
	RuleURI                Rule = "uri"                 // the URI of a resource is none
	RuleTemplate           Rule = "template"            // a resource template cannot be parsed
	RuleMIMEType           Rule = "mime-type"           // a media type cannot be parsed
)

// Finding is something in what a server shows that should be changed.
type Finding struct {
	Rule Rule `json:"rule"`
	// Feature is the feature, such as `tool "add"`. It is empty if the finding is about the whole server.
	Feature string `json:"feature,omitzero"`
	// Place is the JSON Pointer of the place in the definition. It may be empty.
	Place string `json:"place,omitzero"`
	// Fault means that the protocol does not allow it, or that a model API refuses the tool. Otherwise the
	// server works, and should be better.
	Fault bool `json:"fault"`
	// Text says what was found, and what would be right. It may have text of the server.
	Text string `json:"text"`
}

// String returns the finding in one line.
func (f Finding) String() string {
	at := f.Feature
	if at == "" {
		at = "server"
	}
	if f.Place != "" {
		at += " " + f.Place
	}
	return fmt.Sprintf("%s: %s (%s)", at, f.Text, f.Rule)
}
