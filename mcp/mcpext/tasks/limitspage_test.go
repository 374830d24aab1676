package tasks

import (
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/durable"
)

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	var o Options
	claim.Limit(t, "tasks of all clients, and of one authenticated principal or one anonymous session", o.maxTasks(), o.perPrincipal())
	claim.Limit(t, "bytes of the tasks of all clients, with their answers and results; each task counts with the most bytes it has had", claim.Bytes(o.maxBytes()))
	claim.Limit(t, "questions of one task", o.maxQuestions())
	claim.Limit(t, "one task: lifetime, size of its result or error", o.ttl(), claim.Bytes(o.maxResult()))
	claim.Limit(t, "TTL of a task that a client of 2025-11-25 requests", o.maxTTL())
	claim.Limit(t, "tasks of one subscription", maxListened)
	claim.Limit(t, "a durable task: attempts; memory, which is results of steps and answers", o.Durable.attempts(), claim.Bytes(o.Durable.maxMemory()))
	claim.Limit(t, "time between attempts of a durable task: the first, the longest", o.Durable.backoff(), o.Durable.maxBackoff())
	claim.Limit(t, "durable tasks that one process has taken over and runs", o.Durable.maxTaken())
	claim.Limit(t, "encrypted call of a durable task", claim.Bytes(maxCall))
	claim.Limit(t, "time after which a durable task continues elsewhere when its process was killed", durable.LeaseTime+2*scanInterval)
	claim.Limit(t, "time after which a durable call continues elsewhere when its process was killed", durable.LeaseTime+2*scanInterval)
	claim.Limit(t, "time that a durable call which was cancelled stays in the Store", cancelledFor)
}
