package mcp

// A Limit is the stable name of a limit of a server or a client, for metrics and
// logs. docs/limits.md says what each one bounds, by default and by which option.
type Limit string

// The limits of servers that can be reached.
const (
	LimitMessageBytes      Limit = "message.bytes"
	LimitResultBytes       Limit = "result.bytes"
	LimitCalls             Limit = "calls"
	LimitCallsShare        Limit = "calls.share"
	LimitSessionCalls      Limit = "calls.session"
	LimitToolRate          Limit = "rate.tools"
	LimitCompletionRate    Limit = "rate.completion"
	LimitSubscriptionRate  Limit = "rate.subscription"
	LimitOneTool           Limit = "tool.rate"
	LimitToolTimeout       Limit = "tool.timeout"
	LimitToolCalls         Limit = "tool.calls"
	LimitRounds            Limit = "rounds"
	LimitKept              Limit = "kept"
	LimitParked            Limit = "parked"
	LimitHandles           Limit = "handles"
	LimitWatched           Limit = "watched"
	LimitLog               Limit = "log"
	LimitSessions          Limit = "sessions"
	LimitPrincipalSessions Limit = "sessions.principal"
	LimitStreams           Limit = "streams"
	LimitPrincipalStreams  Limit = "streams.principal"
	LimitStreamBacklog     Limit = "stream.backlog"
	LimitStreamWrite       Limit = "stream.write"
	LimitUnsent            Limit = "unsent"
	LimitConnections       Limit = "connections"
	LimitDescriptors       Limit = "descriptors"
	LimitTasks             Limit = "tasks"
	LimitPrincipalTasks    Limit = "tasks.principal"
	LimitTaskQuestions     Limit = "tasks.questions"
)

// The limits of clients that can be reached. Servers report those of questions
// and notifications, too.
const (
	LimitQuestions       Limit = "questions"
	LimitSamplingRate    Limit = "rate.sampling"
	LimitElicitationRate Limit = "rate.elicitation"
	LimitNotifications   Limit = "notifications"
)

// LimitReached reports that a limit was reached. What exceeded it was refused,
// dropped or ended, as docs/limits.md says.
type LimitReached struct {
	Limit Limit
	// Principal is the sender of the message. It is anonymous if the sender is unknown, and always
	// in clients.
	Principal Principal
	// Method of the message, or empty.
	Method string
}

// Rate is a token bucket: it allows Burst events at once, and PerSecond events
// per second in the long run. A PerSecond of 0 means the default, a negative
// PerSecond means no limit. A Burst of 0 means PerSecond, rounded up to a whole
// number.
type Rate struct {
	PerSecond float64
	Burst     int
}
