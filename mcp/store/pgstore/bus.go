package pgstore

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const (
	// maxChannel is the size of the longest name of a channel.
	maxChannel = 63
	// maxPart is the number of bytes of a message that one notification carries. As base64, with
	// a header, they are less than the 8,000 bytes that PostgreSQL takes.
	maxPart = 5900
)

// channel returns the name of the channel of a topic: a digest, because a name is short. Channels
// belong to the whole database, so the digest is also of the schema and the namespace.
func (s *Store) channel(topic string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{s.schema, s.namespace, topic}, "\n")))
	return ("fondaco_" + hex.EncodeToString(sum[:]))[:maxChannel]
}

// Publish implements mcp.Bus. It returns once PostgreSQL has queued the message.
func (s *Store) Publish(ctx context.Context, topic string, msg []byte) error {
	if err := checkTopic(topic); err != nil {
		return fmt.Errorf("pgstore: publish: %w", err)
	}
	if len(msg) > maxMessage {
		return fmt.Errorf("pgstore: publish: message of %d bytes: want at most %d", len(msg), maxMessage)
	}
	return s.call(ctx, "publish", func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, s.statements.publish, s.channel(topic), encodeMessage(msg))
		return err
	})
}

// encodeMessage returns the payloads of the notifications that carry a message. A payload is the
// number of its part, the number of the last part, a random id of the message, and the part as
// base64, separated by colons. PostgreSQL delivers the notifications of one transaction together
// and in order, and equal ones once; the number and the id make them differ.
func encodeMessage(msg []byte) []string {
	id := rand.Text()[:8]
	last := max(0, len(msg)-1) / maxPart
	parts := make([]string, last+1)
	for i := range parts {
		part := msg[i*maxPart : min((i+1)*maxPart, len(msg))]
		parts[i] = fmt.Sprintf("%d:%d:%s:%s", i, last, id, base64.RawStdEncoding.EncodeToString(part))
	}
	return parts
}

// assembly joins the parts of one message.
type assembly struct {
	id         string
	next, last int // the numbers of the next part and of the last one
	msg        []byte
}

// add adds a payload. It reports true with the message when that is complete. It ignores payloads
// that are not the next one, which are those of a message whose beginning was lost, and those
// that a Store has not sent.
func (a *assembly) add(payload string) (msg []byte, complete bool) {
	fields := strings.SplitN(payload, ":", 4)
	if len(fields) != 4 {
		return nil, false
	}
	number, err1 := strconv.Atoi(fields[0])
	last, err2 := strconv.Atoi(fields[1])
	part, err3 := base64.RawStdEncoding.DecodeString(fields[3])
	if errors.Join(err1, err2, err3) != nil || last > maxMessage/maxPart {
		return nil, false
	}
	if number == 0 {
		*a = assembly{id: fields[2], last: last}
	}
	if fields[2] != a.id || last != a.last || number != a.next {
		return nil, false
	}
	a.msg = append(a.msg, part...)
	a.next++
	if number < last {
		return nil, false
	}
	msg = a.msg
	*a = assembly{}
	return msg, true
}
