// Calls of one client that come on standard input, one line of JSON each, at the same time as others. peers/plan/loop.go does
// the same, and says what the lines have.
import { createInterface } from 'node:readline';

const callTime = 15_000; // of one call

// answerTo is what the user answers to a question.
export function answerTo(message) {
  const whose = /^Who has (.*)$/s.exec(message ?? '');
  return whose ? { Name: 'owner-' + whose[1] } : { name: 'Ada' };
}

// loop ends the process with standard input.
export async function loop(client, transport, callTool) {
  const print = line => console.log(JSON.stringify({ session: transport.sessionId, ...line }));
  try {
    await client.connect(transport);
  } catch (e) {
    print({ error: String(e?.message ?? e) });
    process.exit(0);
  }
  print({});
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, ...call } = JSON.parse(line);
    callTool(call, { timeout: callTime, onprogress: p => p.message !== undefined && print({ id, progress: p.message }) })
      .then(r => print({ id, ...r }), e => print({ id, error: String(e?.message ?? e) || 'an error without text' }));
  }
  const end = setTimeout(() => process.exit(0), 1000);
  await client.close().catch(() => {});
  clearTimeout(end);
  process.exit(0);
}
