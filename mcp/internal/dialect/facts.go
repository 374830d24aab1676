package dialect

import (
	"maps"
	"slices"

	"github.com/fondaco/fondaco/mcp"
)

// Era is one of the two state models of the protocol.
type Era uint8

const (
	// SessionEra negotiates once (initialize) and keeps the result for the
	// session.
	SessionEra Era = iota
	// StatelessEra carries revision, capabilities and identity in every request.
	StatelessEra
)

// Structured is what a revision allows as structured tool output.
type Structured uint8

const (
	// NoStructured: text and other content only.
	NoStructured Structured = iota
	// ObjectStructured: a JSON object under a schema whose root is an object.
	ObjectStructured
	// AnyStructured: any JSON value under any schema.
	AnyStructured
)

// Facts describes one revision as data. Code reads a fact and never depends on
// the revision itself. Facts are immutable and shared.
type Facts struct {
	Revision mcp.Revision
	Era      Era
	Draft    bool // never published: supported only if it is requested

	// The wire.
	Batch             bool // a frame may hold an array of messages
	EventStream       bool // may travel over HTTP+SSE
	VersionHeader     bool // the version header follows every request after the first
	StandardHeaders   bool // method and name headers are required and compared
	NumberHeaders     bool // arguments that are numbers may be mirrored in headers
	Resume            bool // event streams can be resumed by event id
	Priming           bool // an event stream opens with an empty event that has an id
	DisconnectCancels bool // the end of the response stream cancels the request

	// The messages, by direction.
	ClientRequests      map[string]bool
	ClientNotifications map[string]bool
	ServerRequests      map[string]bool
	ServerNotifications map[string]bool

	// The envelope of a result: resultType, caching hints, serverInfo.
	Envelope bool

	// The shapes.
	Titles          bool // title on tools, resources, templates, prompts, arguments
	MetaOnListed    bool // _meta on listed things, content and resource contents
	Icons           bool // icons, and description and websiteUrl of an implementation
	ToolAnnotations bool
	TaskSupport     bool // execution.taskSupport on tools
	Structured      Structured
	Audio           bool
	ResourceLinks   bool
	LastModified    bool // annotations.lastModified
	ProgressMessage bool
	Completions     bool // the completions capability exists
	Context         bool // completion requests carry the other arguments
	SamplingTools   bool // sampling messages hold several blocks, tools and their results
	ElicitURL       bool // elicitation has modes
	RichForms       bool // forms have titled choices, choices of several, and every default

	// The numbers of the errors that differ between revisions.
	Numbers map[mcp.Code]int64
}

// baseNumbers are valid in every revision; a revision's own numbers take
// precedence.
var baseNumbers = map[mcp.Code]int64{
	mcp.CodeParse:          -32700,
	mcp.CodeInvalidRequest: -32600,
	mcp.CodeMethodNotFound: -32601,
	mcp.CodeInvalidParams:  -32602,
	mcp.CodeInternal:       -32603,
	mcp.CodeHeaderMismatch: -32020,

	// No revision has numbers for these, and those of JSON-RPC and the protocol are reserved, so
	// these are the HTTP status codes.
	mcp.CodeInsufficientScope: 403,
	mcp.CodeRateLimited:       429,
	mcp.CodeOverloaded:        503,
}

var (
	sessionNumbers = map[mcp.Code]int64{
		mcp.CodeResourceNotFound: -32002,
		mcp.CodeRejected:         -1,
	}
	urlElicitationNumbers = map[mcp.Code]int64{
		mcp.CodeResourceNotFound:       -32002,
		mcp.CodeRejected:               -1,
		mcp.CodeURLElicitationRequired: -32042,
	}
	statelessNumbers = map[mcp.Code]int64{
		mcp.CodeResourceNotFound:   -32602,
		mcp.CodeMissingCapability:  -32021,
		mcp.CodeUnsupportedVersion: -32022,
	}
)

// The methods of every revision.
var featureRequests = []string{
	mcp.MethodToolsList, mcp.MethodToolsCall,
	mcp.MethodResourcesList, mcp.MethodResourceTemplatesList, mcp.MethodResourcesRead,
	mcp.MethodPromptsList, mcp.MethodPromptsGet,
	mcp.MethodComplete,
}

var (
	sessionRequests = with(featureRequests,
		mcp.MethodInitialize, mcp.MethodPing, mcp.MethodSetLevel,
		mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe)
	taskRequests = []string{
		mcp.MethodTasksGet, mcp.MethodTasksResult, mcp.MethodTasksList, mcp.MethodTasksCancel,
	}
	sessionNotes = []string{
		mcp.NotificationInitialized, mcp.NotificationCancelled, mcp.NotificationProgress,
		mcp.NotificationRootsListChanged,
	}
	changeNotes = []string{
		mcp.NotificationToolsListChanged, mcp.NotificationPromptsListChanged,
		mcp.NotificationResourcesListChanged, mcp.NotificationResourceUpdated,
		mcp.NotificationProgress, mcp.NotificationMessage, mcp.NotificationCancelled,
	}
	olderServerRequests = []string{mcp.MethodPing, mcp.MethodCreateMessage, mcp.MethodRootsList}
)

// facts is the table of all revisions that can be supported, oldest first.
var facts = slices.Insert(published, len(published)-1, draftOf(published[len(published)-2]))

// numberDraftMismatch is the number of an error of the draft if headers are missing or differ from the
// body. No published revision defines it.
const numberDraftMismatch = -32001

// draftOf returns the facts of the draft of April 2026: the last revision with
// sessions, with the headers of the stateless revision.
func draftOf(sessions *Facts) *Facts {
	f := *sessions
	f.Revision, f.Draft = mcp.DraftV1, true
	f.StandardHeaders, f.NumberHeaders = true, true
	f.Numbers = maps.Clone(f.Numbers)
	f.Numbers[mcp.CodeHeaderMismatch] = numberDraftMismatch
	return &f
}

// published is the table of the five revisions, oldest first.
var published = []*Facts{
	{
		Revision:            mcp.V20241105,
		EventStream:         true,
		Resume:              true,
		ClientRequests:      set(sessionRequests),
		ClientNotifications: set(sessionNotes),
		ServerRequests:      set(olderServerRequests),
		ServerNotifications: set(changeNotes),
		Numbers:             sessionNumbers,
	},
	{
		Revision:            mcp.V20250326,
		EventStream:         true,
		Batch:               true,
		Resume:              true,
		ClientRequests:      set(sessionRequests),
		ClientNotifications: set(sessionNotes),
		ServerRequests:      set(olderServerRequests),
		ServerNotifications: set(changeNotes),
		ToolAnnotations:     true,
		Audio:               true,
		ProgressMessage:     true,
		Completions:         true,
		Numbers:             sessionNumbers,
	},
	{
		Revision:            mcp.V20250618,
		EventStream:         true,
		VersionHeader:       true,
		Resume:              true,
		ClientRequests:      set(sessionRequests),
		ClientNotifications: set(sessionNotes),
		ServerRequests:      set(with(olderServerRequests, mcp.MethodElicit)),
		ServerNotifications: set(changeNotes),
		Titles:              true,
		MetaOnListed:        true,
		ToolAnnotations:     true,
		Structured:          ObjectStructured,
		Audio:               true,
		ResourceLinks:       true,
		LastModified:        true,
		ProgressMessage:     true,
		Completions:         true,
		Context:             true,
		Numbers:             sessionNumbers,
	},
	{
		Revision:            mcp.V20251125,
		EventStream:         true,
		VersionHeader:       true,
		Resume:              true,
		Priming:             true,
		ClientRequests:      set(with(sessionRequests, taskRequests...)),
		ClientNotifications: set(with(sessionNotes, mcp.NotificationTaskStatus)),
		ServerRequests:      set(with(with(olderServerRequests, mcp.MethodElicit), taskRequests...)),
		ServerNotifications: set(with(changeNotes, mcp.NotificationElicitationComplete, mcp.NotificationTaskStatus)),
		Titles:              true,
		MetaOnListed:        true,
		Icons:               true,
		ToolAnnotations:     true,
		TaskSupport:         true,
		Structured:          ObjectStructured,
		Audio:               true,
		ResourceLinks:       true,
		LastModified:        true,
		ProgressMessage:     true,
		Completions:         true,
		Context:             true,
		SamplingTools:       true,
		ElicitURL:           true,
		RichForms:           true,
		Numbers:             urlElicitationNumbers,
	},
	{
		Revision:            mcp.V20260728,
		Era:                 StatelessEra,
		VersionHeader:       true,
		StandardHeaders:     true,
		DisconnectCancels:   true,
		ClientRequests:      set(with(featureRequests, mcp.MethodDiscover, mcp.MethodListen)),
		ClientNotifications: set([]string{mcp.NotificationCancelled}),
		ServerNotifications: set(with(changeNotes, mcp.NotificationAcknowledged)),
		Envelope:            true,
		Titles:              true,
		MetaOnListed:        true,
		Icons:               true,
		ToolAnnotations:     true,
		Structured:          AnyStructured,
		Audio:               true,
		ResourceLinks:       true,
		LastModified:        true,
		ProgressMessage:     true,
		Completions:         true,
		Context:             true,
		SamplingTools:       true,
		ElicitURL:           true,
		RichForms:           true,
		Numbers:             statelessNumbers,
	},
}

// Supported returns the facts of the pinned revisions, newest first, or of all
// published revisions if none is pinned.
func Supported(pinned []mcp.Revision) (supported []*Facts) {
	for _, f := range slices.Backward(facts) {
		if len(pinned) == 0 && !f.Draft || slices.Contains(pinned, f.Revision) {
			supported = append(supported, f)
		}
	}
	return supported
}

// Of returns the facts of r, or nil when r is no known revision.
func Of(r mcp.Revision) *Facts {
	for _, f := range facts {
		if f.Revision == r {
			return f
		}
	}
	return nil
}

// Newest returns the facts of the newest published revision of the given era.
func Newest(era Era) *Facts {
	for _, f := range slices.Backward(published) {
		if f.Era == era {
			return f
		}
	}
	panic("dialect: no revision of the era")
}

// isNameIn reports whether name is that of a revision of the era.
func isNameIn(era Era, name string) bool {
	return slices.ContainsFunc(facts, func(f *Facts) bool { return f.Era == era && f.Revision.String() == name })
}

// Number returns the number of code in this revision. Codes that the revision
// does not have get the number of an internal error.
func (f *Facts) Number(code mcp.Code) int64 {
	if n, ok := f.Numbers[code]; ok {
		return n
	}
	if n, ok := baseNumbers[code]; ok {
		return n
	}
	return baseNumbers[mcp.CodeInternal]
}

// CodeFor returns the code of a number from a peer of this revision. It is
// CodeOther for unknown numbers, which applications define.
func (f *Facts) CodeFor(number int64) mcp.Code {
	for code, n := range baseNumbers {
		if n == number {
			return code
		}
	}
	for code, n := range f.Numbers {
		if n == number {
			return code
		}
	}
	return mcp.CodeOther
}

func set(names []string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

func with(names []string, more ...string) []string {
	return append(slices.Clone(names), more...)
}
